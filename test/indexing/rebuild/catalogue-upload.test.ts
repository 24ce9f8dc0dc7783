// The upload of the catalogue to a new index: it makes way for changes and leaves nothing behind.
import t, { type Test } from 'tap'
import { queueReminder, unfinishedStatuses } from '../../../src/indexing/engine/engine-tasks.ts'
import {
  type LiveTarget,
  nextIndexName,
  nextOutboxName,
} from '../../../src/indexing/index-address.ts'
import { LeaseLost } from '../../../src/indexing/lease/indexer-lease.ts'
import { queueProducts } from '../../../src/indexing/outbox.ts'
import type { CatalogueUpload } from '../../../src/indexing/rebuild/catalogue-upload.ts'
import { deleteRebuildRows } from '../../../src/indexing/rebuild/rebuild-start-and-end.ts'
import { leaseTarget } from '../../support/database/leased-target.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import {
  countRowsForNext,
  countUnfinishedTasks,
  serviceWithProducts,
  startCatalogueUpload,
  waitForUpload,
} from './rebuild-test-helpers.ts'

const service = await serviceWithProducts(t, 6_000)
const { db, engine, target } = service
const indexName = nextIndexName(target.indexName)
const index = engine.index(indexName)

/** Starts an upload to a new index and waits until one of its payloads is queued. */
async function startUpload(
  t: Test,
  leased: LiveTarget,
  log: (line: string) => void = () => undefined,
): Promise<CatalogueUpload> {
  await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
  t.teardown(() => engine.deleteIndex(indexName).waitTask())
  const upload = startCatalogueUpload(leased, { log })
  t.ok((await waitForUpload(service, indexName)) > 0, 'an upload is queued')
  return upload
}

t.test('cancels queued uploads for a change and sends them again', async (t) => {
  const upload = await startUpload(t, await leaseTarget(target))
  const queued = await engine.tasks.getTasks({
    indexUids: [indexName],
    statuses: unfinishedStatuses,
  })
  await upload.yieldToChange()
  // The same documents may have been sent again in newer tasks.
  const uids = queued.results.map(({ uid }) => uid)
  const unfinished = await engine.tasks.getTasks({ uids, statuses: unfinishedStatuses })
  t.equal(unfinished.total, 0, 'the engine is available')
  t.ok((await index.getStats()).numberOfDocuments < 6_000)
  t.equal(await upload.finished, 6_000)
  t.equal((await index.getStats()).numberOfDocuments, 6_000)
})

t.test('logs once that it waits for a task, and that it goes on', async (t) => {
  replaceUntilEnd(t, queueReminder, { ms: 20 })
  const lines: string[] = []
  const upload = await startUpload(t, await leaseTarget(target), (line) => lines.push(line))
  await upload.finished
  t.equal(lines.length, 2)
  t.match(lines, [
    /^Meilisearch: a task has not ended after 0\.02 s\. The rebuild waits for it\.$/,
    'The rebuild goes on.',
  ])
})

t.test('leaves no task in the queue of the engine when it is stopped', async (t) => {
  const upload = await startUpload(t, await leaseTarget(target))
  upload.stop(new Error('enough'))
  await t.rejects(upload.finished, /enough/)
  t.equal(await countUnfinishedTasks(service, indexName), 0)
})

t.test('queues the products that it has sent when the lease is lost', async (t) => {
  const leased = await leaseTarget(target)
  const upload = await startUpload(t, leased)
  await leaseTarget(target) // another indexer takes over
  const cause = new Error('Request to the engine has failed')
  upload.stop(cause)
  const error = await upload.finished.catch((thrown: unknown) => thrown)
  t.ok(error instanceof LeaseLost, 'the build command starts over')
  t.equal((error as Error).cause, cause)
  const queued = await db
    .selectFrom('index_outbox')
    .select(['registration_name', 'product_id'])
    .execute()
  t.ok(queued.length >= 3_000, `${queued.length} products`)
  await queueProducts(db, nextOutboxName(target.registrationName), ['1'])
  await t.rejects(deleteRebuildRows(leased), /another indexer/i)
  t.equal(await countRowsForNext(service), 1, 'rows that may belong to the other indexer stay')
  t.ok(
    queued.every(
      ({ registration_name, product_id }) =>
        registration_name === target.registrationName && product_id !== null,
    ),
  )
})

t.test('sends nothing before the index exists', async (t) => {
  const { promise, reject } = Promise.withResolvers<never>()
  const upload = startCatalogueUpload(await leaseTarget(target), {
    indexCreated: promise,
    log: (line) => t.fail(line),
  })
  reject(new Error('The index was not created.'))
  await t.rejects(upload.finished, /not created/)
  t.equal(await countUnfinishedTasks(service, indexName), 0)
})
