// A rebuild loses no change and delays none.
import { sql } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t, { type Test } from 'tap'
import { openPool } from '../../../src/database/postgres-pool.ts'
import { uploadSize } from '../../../src/indexing/apply.ts'
import { nextIndexName } from '../../../src/indexing/registration.ts'
import { verifyIndex } from '../../../src/indexing/verify.ts'
import { rebuildIndex } from '../../support/database/leased-target.ts'
import { servers } from '../../support/database/test-database.ts'
import { measureUntilBelow } from '../../support/measure-until.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'
import { startIndexer, startIndexerProcess, waitForOutput } from '../run-indexer.ts'
import { measureChange, serviceWithProducts } from './rebuild-test-helpers.ts'

/**
 * During a rebuild a change waits for two uploads, about 4 s. The machine of the tests may be busy
 * with others.
 */
const changeLimitMs = 10_000

/** A client of the engine that rewrites the body of every request. */
async function openRewritingClient(
  { config }: TestService,
  rewrite: (path: string, body: string) => Promise<string>,
): Promise<Meilisearch> {
  const httpClient = async (input: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const body = typeof init?.body === 'string' ? await rewrite(pathname, init.body) : init?.body
    const response = await fetch(input, { ...init, ...(body !== undefined && { body }) })
    return response.json() as Promise<unknown>
  }
  const { meiliMasterKey } = await servers()
  return new Meilisearch({
    host: config.MEILI_URL,
    apiKey: meiliMasterKey,
    httpClient: httpClient as never,
  })
}

t.test('parks a document that the engine rejects while processing its upload', async (t) => {
  const service = await serviceWithProducts(t, 300)
  const { target, db } = service
  const { rows } = await service.pool.query<{ id: string }>(
    "select id from products where sku = 'S-123'",
  )
  const id = rows[0]?.id ?? ''
  // The engine accepts the upload, and then rejects it because of this id.
  const client = await openRewritingClient(service, async (_path, body) =>
    body.replace(`{"id":"${id}",`, '{"id":"not an id",'),
  )
  await rebuildIndex({ ...target, client })
  const parked = await db
    .selectFrom('index_parked_documents')
    .select(['product_id', 'reason'])
    .execute()
  t.match(parked, [{ product_id: id, reason: /identifier/ }])
  t.same((await verifyIndex(service.target)).missing, [id], 'all others are in the index')
})

t.test('changes made between two uploads are not lost', async (t) => {
  const service = await serviceWithProducts(t, 30)
  const { pool, target } = service
  await service.sync()
  replaceUntilEnd(t, uploadSize, { documents: 10 })
  let uploads = 0
  const client = await openRewritingClient(service, async (path, body) => {
    const isUpload = path.startsWith(`/indexes/${nextIndexName(target.indexName)}/documents`)
    // A batch of changes has three documents.
    if (!isUpload || body.trim().split('\n').length <= 3) return body
    uploads += 1
    // Products of each upload: those before, this one, and those that follow.
    const [first, second, third] = [uploads, 10 + uploads, 20 + uploads]
    await pool.query(`
      update products set name = 'Cambiada ${uploads}'
      where sku in ('S-${first}', 'S-${second}', 'S-${third}');
      delete from products where sku in ('S-${first + 4}', 'S-${second + 4}', 'S-${third + 4}')`)
    return body
  })
  await rebuildIndex({ ...target, client })
  t.equal(uploads, 3)
  const { missing, stale, extra } = await verifyIndex(target)
  t.same({ missing, stale, extra }, { missing: [], stale: [], extra: [] })
  t.same(await service.db.selectFrom('index_outbox').select('id').execute(), [])
})

/** Starts an indexer that follows the changes of 6,000 products. */
async function startFollowing(t: Test) {
  const service = await testService(t)
  await sql`
    insert into products (sku, name)
    select 'S-' || n, 'Pieza ' || n from generate_series(1, 6000) n
  `.execute(service.db)
  await service.sync()
  const indexer = await startIndexer(t, service)
  await waitForOutput(indexer, 'Following')
  return { service, indexer }
}

/**
 * Requests a rebuild and changes one product after the other until it has ended. Calls `onChange`
 * with their number so far. Returns the times until each change was in the index.
 */
async function changeDuringRebuild(
  t: Test,
  service: TestService,
  newName: string,
  onChange: (count: number) => unknown = () => undefined,
): Promise<{ timesMs: number[]; output: string }> {
  const rebuilding = await startIndexerProcess(t, service, ['rebuild'])
  let isOver = false
  void rebuilding.exit.then(() => {
    isOver = true
  })
  const timesMs: number[] = []
  while (!isOver) {
    const count = timesMs.length + 1
    timesMs.push(await measureChange(service, `S-${count * 7}`, `${newName} ${count}`, 60_000))
    await onChange(count)
  }
  t.equal(await rebuilding.exit, 0, rebuilding.output())
  return { timesMs, output: rebuilding.output() }
}

t.test('loses and delays no change made during a requested rebuild', async (t) => {
  const { service, indexer } = await startFollowing(t)
  const latePool = openPool(service.url, { connections: 1, connectionTimeoutMs: 60_000 })
  t.teardown(() => latePool.end())
  // Begins before the rebuild and commits during it. It changes a product that was read by then.
  const late = await latePool.connect()
  await late.query('begin')
  await late.query("update products set name = 'Rezagado' where sku = 'S-1'")
  const { timesMs, output } = await changeDuringRebuild(t, service, 'Cambiada', async (count) => {
    if (count === 3) await late.query('commit')
    if (count % 5 === 0)
      await service.pool.query('delete from products where sku = $1', [`S-${count * 7 + 1}`])
  })
  late.release()
  t.match(indexer.output(), 'A rebuild was requested.', 'the running indexer rebuilds')
  t.match(
    output,
    /^Requested a rebuild\.\nAnother indexer \(.+, process \d+, .+\nThe rebuild is complete\.$/m,
  )
  t.ok(timesMs.length > 3, `${timesMs.length} changes were applied meanwhile`)
  const { missing, stale, extra } = await verifyIndex(service.target)
  t.same({ missing, stale, extra }, { missing: [], stale: [], extra: [] })
  const { results } = await service.engine.getIndexes({ limit: 1000 })
  t.same(
    results.filter(({ uid }) => uid === `${service.config.SEARCH_INDEX}_next`),
    [],
  )

  let attempts = 0
  const measureSlowest = async () => {
    attempts += 1
    if (attempts === 1) return Math.max(...timesMs)
    return Math.max(...(await changeDuringRebuild(t, service, `Otra ${attempts}`)).timesMs)
  }
  const slowestMs = await measureUntilBelow(changeLimitMs, measureSlowest, 60_000)
  t.ok(slowestMs < changeLimitMs, `the slowest change was indexed after ${slowestMs} ms`)
})
