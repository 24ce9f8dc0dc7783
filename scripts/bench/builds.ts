// Measures how fast changes reach the search index, next to direct uploads of the same documents in
// the same run.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { EnqueuedTask, Meilisearch } from 'meilisearch'
import type { Database } from '../../src/database/postgres-pool.ts'
import { readDocumentsAfter, toDocumentLine } from '../../src/indexing/documents.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { requestRebuild } from '../../src/indexing/registration.ts'
import { indexSettings } from '../../src/indexing/settings.ts'
import { verifyIndex } from '../../src/indexing/verify.ts'
import type { ProductDocument } from '../../src/search-engine/document-fields.ts'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { spawnChild } from '../servers/child-lifetime.ts'
import { insertGeneratedProducts } from './data/generated-products.ts'
import {
  type Bench,
  createDatabase,
  elapsedMs,
  median,
  quantile,
  reportRatio,
  root,
} from './harness.ts'

const liveIndex = nameWithVersion('products')
const uploadIndex = 'direct-upload'
const uploadSize = 20_000
const bursts = 3

type Build = { db: Database; engine: Meilisearch; products: number }

export async function measure(bench: Bench): Promise<void> {
  const { meiliUrls, meiliMasterKey } = bench.servers
  const meiliUrl = meiliUrls[0] ?? ''
  const { db, databaseUrl } = await createDatabase(bench, 'builds')
  const engine = openIndexingClient(meiliUrl, meiliMasterKey)
  const build: Build = { db, engine, products: bench.size(50_000, 1_000) }
  await insertGeneratedProducts(db, build.products)
  // Before and after, because the load of the machine may change during the run.
  const uploadBefore = await measureUpload(build)
  const indexer = spawnChild(process.execPath, ['scripts/indexer.ts'], {
    cwd: root,
    env: {
      DATABASE_URL: databaseUrl,
      MEILI_URL: meiliUrl,
      MEILI_MASTER_KEY: meiliMasterKey,
      INDEXER_OPS_PORT: '0',
      LOG_LEVEL: 'warn',
    },
    stopSignal: 'SIGTERM',
    output: 2,
  })
  bench.atEnd(async () => {
    const exit = once(indexer, 'exit')
    if (indexer.kill('SIGTERM')) await exit
  })
  const rateUntil = async (isFinished: () => Promise<boolean>) => {
    // A build of ten seconds would look one or two percent slower if it were checked less often.
    const ms = await elapsedMs(async () => {
      while (!(await isFinished())) await sleep(25)
    })
    return build.products / (ms / 1_000)
  }
  const readIndex = () => db.selectFrom('search_indexes').selectAll().executeTakeFirst()
  const first = await rateUntil(async () => Boolean((await readIndex())?.indexed_at))
  await requestRebuild(db, nameWithVersion('main'))
  const rebuild = await rateUntil(async () => (await readIndex())?.rebuild_requested_at === null)
  const upload = (uploadBefore + (await measureUpload(build))) / 2
  reportRatio(bench, 'first build, of a direct upload', [first, upload], { atLeast: 0.9 })
  reportRatio(bench, 'rebuild, of a direct upload', [rebuild, upload], { atLeast: 0.9 })

  const times = await measureSingleChanges(build, bench.size(100, 5))
  bench.report({
    what: 'one change, from commit until it is found, p95',
    value: quantile(times, 0.95),
    unit: 'ms',
    bar: { atMost: 500 },
    detail: `p50 ${median(times).toFixed(0)} ms`,
  })
  const rates: [number, number][] = []
  for (let n = 1; n <= bursts; n++)
    rates.push(await measureBurst(build, bench.size(10_000, 200), n))
  const [ours, direct] = [0, 1].map((place) => median(rates.map((rate) => rate[place] ?? 0)))
  reportRatio(bench, 'burst of changes, of a direct upload', [ours ?? 0, direct ?? 0], {
    atLeast: 0.7,
  })
  const differences = await verifyIndex({
    db,
    client: engine,
    indexName: liveIndex,
    registrationName: nameWithVersion('main'),
  })
  bench.report({
    what: 'documents that differ from the products at the end',
    value: differences.missing.length + differences.stale.length + differences.extra.length,
    unit: '',
    bar: { atMost: 0 },
  })
}

/** Returns documents a second when they are only uploaded. */
async function measureUpload(build: Build): Promise<number> {
  await createUploadIndex(build)
  const bodies: string[] = []
  for await (const documents of readAllDocuments(build.db)) bodies.push(toBody(documents))
  const ms = await elapsedMs(() => upload(build.engine, bodies))
  await build.engine.deleteIndex(uploadIndex).waitTask({ timeout: 60_000 })
  return build.products / (ms / 1_000)
}

async function createUploadIndex({ engine }: Build): Promise<void> {
  await engine.deleteIndexIfExists(uploadIndex)
  await engine.createIndex(uploadIndex, { primaryKey: 'id' }).waitTask()
  await engine.index(uploadIndex).updateSettings(indexSettings).waitTask()
}

async function upload(engine: Meilisearch, bodies: string[]): Promise<void> {
  const tasks: EnqueuedTask[] = []
  for (const body of bodies)
    tasks.push(
      await engine
        .index(uploadIndex)
        .addDocumentsFromString(body, 'application/x-ndjson', { primaryKey: 'id' }),
    )
  for (const task of tasks) {
    const { error } = await engine.tasks.waitForTask(task, { timeout: 3_600_000, interval: 50 })
    if (error) throw new Error(error.message)
  }
}

/** Changes products one by one, and searches the engine until it finds each change. */
async function measureSingleChanges(
  { db, engine, products }: Build,
  count: number,
): Promise<number[]> {
  const index = engine.index(liveIndex)
  const times: number[] = []
  for (let n = 1; n <= count; n++) {
    const token = `zq${n.toString(36)}x${Date.now().toString(36)}`
    await db
      .updateTable('products')
      .set({ name: `Pieza ${token}` })
      .where('id', '=', String(1 + ((n * 7_919) % products)))
      .execute()
    times.push(
      await elapsedMs(async () => {
        while ((await index.search(`"${token}"`, { limit: 1 })).hits.length === 0) await sleep(5)
      }),
    )
    await sleep(50 + ((n * 37) % 150))
  }
  return times
}

/**
 * Changes many products in one statement and waits until no change is pending. Then uploads the
 * same documents directly to a copy of the index. Returns both rates, in documents a second.
 */
async function measureBurst(build: Build, count: number, n: number): Promise<[number, number]> {
  const { db, engine, products } = build
  await createUploadIndex(build)
  for await (const documents of readAllDocuments(db)) await upload(engine, [toBody(documents)])
  const step = Math.max(1, Math.floor(products / count))
  await sql`
    update products set name = name || ${` b${n}`} where id % ${step} = 0
  `.execute(db)
  const indexingMs = await elapsedMs(async () => {
    const findPending = () => db.selectFrom('index_outbox').select('id').limit(1).executeTakeFirst()
    while (await findPending()) await sleep(10)
  })
  const changed: ProductDocument[] = []
  for await (const documents of readAllDocuments(db))
    changed.push(...documents.filter(({ id }) => Number(id) % step === 0))
  const uploadMs = await elapsedMs(() => upload(engine, [toBody(changed)]))
  await engine.deleteIndex(uploadIndex).waitTask({ timeout: 60_000 })
  return [changed.length / (indexingMs / 1_000), changed.length / (uploadMs / 1_000)]
}

/** Yields the documents of all products in batches, by id. */
async function* readAllDocuments(db: Database): AsyncGenerator<ProductDocument[]> {
  let lastId: string | undefined = '0'
  while (lastId !== undefined) {
    const documents: ProductDocument[] = await readDocumentsAfter(db, lastId, uploadSize)
    if (documents.length > 0) yield documents
    lastId = documents.at(-1)?.id
  }
}

function toBody(documents: ProductDocument[]): string {
  return documents.map((document) => toDocumentLine(document).text).join('')
}
