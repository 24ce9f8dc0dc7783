// During a rolling upgrade each of two releases has an index. The older one is removed when its
// lease was free for ten minutes.
import { sql } from 'kysely'
import t from 'tap'
import { oldIndexCheckInterval } from '../../../src/indexing/indexer.ts'
import { removeOldIndexes } from '../../../src/indexing/old-indexes.ts'
import {
  type IndexAddress,
  nextIndexName,
  registerIndex,
} from '../../../src/indexing/registration.ts'
import { nameWithoutVersion, nameWithVersion } from '../../../src/search-engine/index-name.ts'
import { rebuildIndex, syncIndex } from '../../support/database/leased-target.ts'
import { eventually } from '../../support/eventually.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'
import { expectIndexedNames } from '../documents/product-names.ts'
import { startIndexer, waitForOutput } from '../run-indexer.ts'

/** The index of an older release. */
function toOlder({ config, target }: TestService): IndexAddress {
  return {
    ...target,
    indexName: nameWithVersion(nameWithoutVersion(config.SEARCH_INDEX), 0),
    registrationName: nameWithVersion('main', 0),
  }
}

const readNames = async ({ db }: TestService) =>
  (await db.selectFrom('search_indexes').select('registration_name').execute())
    .map((row) => row.registration_name)
    .sort()

const freeFor = ({ db }: TestService, name: string, minutes: number, holder: string | null) =>
  sql`
    update index_leases
    set holder = ${holder}, held_until = now() - make_interval(mins => ${minutes})
    where registration_name = ${name}
  `.execute(db)

t.test('the older index is kept up to date until its lease was free for long', async (t) => {
  const service = await testService(t)
  const { db, engine, target } = service
  const older = toOlder(service)
  await registerIndex(db, older.registrationName)
  await rebuildIndex(older)
  t.teardown(() => engine.deleteIndexIfExists(older.indexName))
  // Left by an indexer of that release that was killed during a rebuild.
  await engine.createIndex(nextIndexName(older.indexName)).waitTask()
  const others = ['another', nameWithVersion('main', 2), nameWithVersion('second', 0)]
  for (const name of others) {
    await registerIndex(db, name)
    await freeFor(service, name, 60, null)
  }
  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  await syncIndex(older)
  t.equal((await engine.index(older.indexName).getDocuments()).total, 1)

  const lines: string[] = []
  const signal = new AbortController().signal
  const remove = () => removeOldIndexes({ ...target, signal, log: (line) => lines.push(line) })
  const all = [...others, target.registrationName, older.registrationName].sort()
  for (const [minutes, holder] of [
    [9, null],
    [9, 'an indexer that has died'],
    [-1, 'an indexer that works'],
  ] as const) {
    await freeFor(service, older.registrationName, minutes, holder)
    await remove()
    t.same(await readNames(service), all, `${holder}, ${minutes} minutes`)
  }
  await freeFor(service, older.registrationName, 11, 'an indexer that has died')
  await remove()
  t.same(await readNames(service), [...others, target.registrationName].sort())
  for (const name of [older.indexName, nextIndexName(older.indexName)])
    await t.rejects(engine.getRawIndex(name), /not found/)
  t.equal((await engine.index(target.indexName).getDocuments()).total, 0, 'its own one stays')
  const rows = await db
    .selectFrom('index_outbox')
    .select('id')
    .where('registration_name', '=', older.registrationName)
    .execute()
  t.same(rows, [])
  t.same(lines, [`Removed the index ${older.indexName} of an older release.`])
})

t.test('a removal that fails disturbs neither the indexer nor a change', async (t) => {
  replaceUntilEnd(t, oldIndexCheckInterval, { ms: 200 })
  const service = await testService(t)
  const older = toOlder(service)
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  proxy.cut = { text: `DELETE /indexes/${older.indexName}`, times: 3 }
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  await waitForOutput(indexer, 'Following changes.')
  await registerIndex(service.db, older.registrationName)
  await freeFor(service, older.registrationName, 11, null)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  await expectIndexedNames(t, service, ['Martillo'])
  const hasFailed = async () => indexer.state.jobs.get('old_indexes') === false
  t.ok(await eventually(hasFailed, Boolean))
  await freeFor(service, older.registrationName, 11, null)
  t.equal(indexer.output().match(/The indexes of older releases stay\./g)?.length, 1, 'once')
  t.notMatch(indexer.output(), 'Trying again', 'it does not start over')
})

t.test('a stop ends the removal before the next deletion', async (t) => {
  const service = await testService(t, { index: false })
  const older = toOlder(service)
  await registerIndex(service.db, older.registrationName)
  await freeFor(service, older.registrationName, 11, null)
  const signal = AbortSignal.abort()
  await removeOldIndexes({ ...service.target, signal, log: (line) => t.fail(line) })
  t.same(await readNames(service), [older.registrationName])
})
