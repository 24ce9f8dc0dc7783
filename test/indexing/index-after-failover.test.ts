// The comparison of the index with the catalogue after a failover of PostgreSQL: changes are
// applied meanwhile, and if the indexer dies, the next one compares.
import { sql } from 'kysely'
import type { Index, Meilisearch } from 'meilisearch'
import t, { type Test } from 'tap'
import { queueReminder } from '../../src/indexing/engine/engine-tasks.ts'
import type { LiveTarget } from '../../src/indexing/index-address.ts'
import { keepIndexAfterFailover } from '../../src/indexing/index-after-failover.ts'
import { verifyIndex } from '../../src/indexing/index-verification.ts'
import { readRegistration } from '../../src/indexing/registration.ts'
import { leaseTarget, syncIndex } from '../support/database/leased-target.ts'
import { hasColumn, reactToResults } from '../support/database/result-reaction.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { startIndexer, waitForOutput } from './run-indexer.ts'

/** Three pages of the comparison. */
const productCount = 3_000

async function startIndexed(t: Test) {
  const { db, target, engine, sync } = await testService(t)
  const index = engine.index(target.indexName)
  const readNames = async () => {
    const { results } = await index.getDocuments<{ name: string }>({ limit: 10 })
    return results.map(({ name }) => name).sort()
  }
  return { db, target, index, sync, readNames }
}

/** Sets the registration to that of a promoted replica, which names the previous timeline. */
async function failOver({ db, target }: Pick<TestService, 'db' | 'target'>): Promise<void> {
  await sql`
    update search_indexes set
      database_identity = regexp_replace(database_identity, '/[0-9A-F]+/', '/00000000/')
    where registration_name = ${target.registrationName}
  `.execute(db)
}

/** Adds documents that belong to no product. */
async function addDocuments(index: Index, count: number): Promise<void> {
  const documents = Array.from({ length: count }, (_, n) => ({ id: `${1_000_000 + n}` }))
  await index.addDocuments(documents, { primaryKey: 'id' }).waitTask({ timeout: 60_000 })
}

/**
 * Compares the index with the catalogue, and throws as soon as a change has been applied meanwhile.
 * So many documents differ that the comparison would repair nothing: only a pending change changes
 * the index.
 */
async function compareUntilChanged({ target }: Awaited<ReturnType<typeof startIndexed>>) {
  const leased = await leaseTarget(target)
  // The mark of a new target is due until its first batch has been applied.
  const hasAppliedChange = () => !leased.outbox.isSettledMarkDue()
  return keepIndexAfterFailover(leased, {
    log: () => undefined,
    throwIfStopped: () => {
      if (hasAppliedChange()) throw new Error('A change was applied.')
    },
  })
}

t.test('an index is kept if the failover happens while the indexer checks it', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  await service.sync()
  const { db, target } = service
  let reads = 0
  /** The first read of the registration is before the failover, and the second one after it. */
  const failOverAfterFirstRead = reactToResults(t, hasColumn('isOfThisDatabase'), async (count) => {
    reads = count
    if (count > 1) return
    await failOver(service)
    // The new primary does not know the lease of the server that it has replaced.
    await sql`
      update index_leases
      set fencing_token = fencing_token + 1, holder = null, held_until = null
      where registration_name = ${target.registrationName}
    `.execute(db)
  })
  const indexer = await startIndexer(t, service, { plugin: failOverAfterFirstRead })
  const output = await waitForOutput(indexer, 'Following changes.')
  t.ok(reads > 1)
  t.match(output, 'PostgreSQL has failed over and has lost no change that the index contains.')
  t.notMatch(output, 'Building the index', 'searches go on using it')
})

/** Returns what is logged when the index is checked after a failover. */
async function logCheck(leased: LiveTarget): Promise<string[]> {
  const lines: string[] = []
  await keepIndexAfterFailover(leased, {
    log: (line) => void lines.push(line),
    throwIfStopped: () => undefined,
  })
  return lines
}

t.test('the log says why the index is not compared', async (t) => {
  const { db, target } = await startIndexed(t)
  await failOver({ db, target })
  const notCompared = 'PostgreSQL has failed over. The index is not compared, because '
  const leased = await leaseTarget(target)
  await sql`update search_indexes set last_task_uid = 1000000000`.execute(db)
  t.same(await logCheck(leased), [
    `${notCompared}the search engine was restored to an older state.`,
  ])
  t.same(await logCheck({ ...leased, indexName: 'none' }), [`${notCompared}it does not exist.`])
  await sql`update search_indexes set indexed_at = null`.execute(db)
  t.same(await logCheck(leased), [`${notCompared}it is not known what it contains.`])
})

t.test('the index is compared if the engine has deleted its finished tasks', async (t) => {
  const { db, target } = await startIndexed(t)
  await failOver({ db, target })
  const registration = await readRegistration(db, target.registrationName)
  const uids = [registration?.lastTask?.taskNumber ?? 0]
  await target.client.tasks.deleteTasks({ uids }).waitTask()
  t.match(await logCheck(await leaseTarget(target)), [/Comparing/, 'No document differs.'])
  t.match(await readRegistration(db, target.registrationName), { hasFailedOver: false })
})

t.test('the log says for how many tasks the comparison waits', async (t) => {
  replaceUntilEnd(t, queueReminder, { ms: 0 })
  const { db, target } = await startIndexed(t)
  await failOver({ db, target })
  const leased = await leaseTarget(target)
  let polls = 0
  const getTasks: Meilisearch['tasks']['getTasks'] = async (query) => {
    const found = await leased.taskClient.tasks.getTasks(query)
    if (!query?.statuses) return found
    polls += 1
    return { ...found, total: polls <= 2 ? 3 - polls : 0 }
  }
  const taskClient = { tasks: { getTasks } } as unknown as Meilisearch
  t.match(await logCheck({ ...leased, taskClient }), [
    'PostgreSQL has failed over. Waiting for 2 tasks of the search engine.',
    'PostgreSQL has failed over. Waiting for 1 task of the search engine.',
    /has lost no change/,
  ])
})

t.test('changes are applied while the index is compared', async (t) => {
  const service = await startIndexed(t)
  const { db, index } = service
  await sql`update search_indexes set is_writing = true`.execute(db)
  await failOver(service)
  await addDocuments(index, 4_000)
  const products = Array.from({ length: productCount }, (_, n) => ({ sku: `S-${n}`, name: `${n}` }))
  await db.insertInto('products').values(products).execute()
  await t.rejects(compareUntilChanged(service), { message: 'A change was applied.' })
  t.equal((await index.getStats()).numberOfDocuments, 4_000 + productCount)
})

t.test('changes are applied during the search for documents without a product', async (t) => {
  const service = await startIndexed(t)
  const { db, index } = service
  await sql`update search_indexes set is_writing = true`.execute(db)
  await failOver(service)
  await addDocuments(index, 12_000)
  await db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  await t.rejects(compareUntilChanged(service), { message: 'A change was applied.' })
  t.equal((await index.getStats()).numberOfDocuments, 12_001)
})

t.test('the log says how many documents differ if they are too many to repair', async (t) => {
  const service = await startIndexed(t)
  const { db, target, index } = service
  await sql`update search_indexes set is_writing = true`.execute(db)
  await failOver(service)
  await addDocuments(index, 1_001)
  const lines: string[] = []
  await keepIndexAfterFailover(await leaseTarget(target), {
    log: (line) => void lines.push(line),
    throwIfStopped: () => undefined,
  })
  t.same(lines.slice(1), [
    '1,001 documents differ from the catalogue of 0 products, which is too many to repair.',
  ])
  t.equal((await index.getStats()).numberOfDocuments, 1_001, 'the index is left as it is')
})

t.test('the comparison misses no document if others are removed meanwhile', async (t) => {
  const { target, index } = await startIndexed(t)
  await addDocuments(index, 12_000)
  const removed = { ids: [] as string[] }
  const { extra } = await verifyIndex(target, {
    applyPendingChanges: async () => {
      if (removed.ids.length > 0) return 0
      const { results } = await index.getDocuments<{ id: string }>({ fields: ['id'], limit: 3_000 })
      removed.ids = results.map(({ id }) => id)
      await index.deleteDocuments(removed.ids).waitTask({ timeout: 60_000 })
      return removed.ids.length
    },
  })
  t.equal(removed.ids.length, 3_000)
  t.equal(extra.length, 9_000)
})

t.test('if an indexer dies after it has applied changes, the next one compares', async (t) => {
  const service = await startIndexed(t)
  const { db, target, index, sync, readNames } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  await sync()
  const { id } = await db.selectFrom('products').select('id').executeTakeFirstOrThrow()
  await index.updateDocuments([{ id, name: 'perdido', contentHash: 'lost' }]).waitTask()
  await failOver(service)
  const before = await readRegistration(db, target.registrationName)
  await db.insertInto('products').values({ sku: 'A-2', name: 'dos' }).execute()
  await syncIndex(target)
  t.same(await readNames(), ['dos', 'perdido'])
  t.match(await readRegistration(db, target.registrationName), {
    mayHaveUnrecordedWrites: true,
    hasFailedOver: true,
    indexedAt: before?.indexedAt ?? null,
  })

  const lines: string[] = []
  await keepIndexAfterFailover(await leaseTarget(target), {
    log: (line) => void lines.push(line),
    throwIfStopped: () => undefined,
  })
  t.match(lines, [/Comparing/, /1 document differed/])
  t.same(await readNames(), ['dos', 'uno'])
  t.match(await readRegistration(db, target.registrationName), { hasFailedOver: false })
})

t.test('a repair ends while changes arrive all the time', async (t) => {
  const service = await startIndexed(t)
  const { db, target, sync, readNames } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  await sync()
  await sql`update search_indexes set is_writing = true`.execute(db)
  await failOver(service)
  let changes = 0
  // After each read of changes, there is another one.
  const changeAgain = reactToResults(t, hasColumn('readAt'), async () => {
    changes += 1
    if (changes > 20) throw new Error('The repair does not end.')
    await db
      .updateTable('products')
      .set({ name: `uno ${changes}` })
      .execute()
  })
  const leased = await leaseTarget({ ...target, db: db.withPlugin(changeAgain) })
  const lines = await logCheck(leased)
  t.match(lines, [/Comparing/, 'No document differs.'])
  t.match(await readRegistration(db, target.registrationName), { hasFailedOver: false })
  t.match(await readNames(), [/uno \d/])
})
