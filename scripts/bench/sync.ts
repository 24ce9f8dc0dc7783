// Measures how fast changes reach the search index, next to direct uploads of the same documents in
// the same run.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { EnqueuedTask, Meilisearch } from 'meilisearch'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { readDocumentsAfter, toDocumentLine } from '../../src/indexing/documents.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { readOutbox } from '../../src/indexing/outbox.ts'
import { requestRebuild } from '../../src/indexing/registration.ts'
import { indexSettings } from '../../src/indexing/settings.ts'
import { verifyIndex } from '../../src/indexing/verify.ts'
import type { ProductDocument } from '../../src/search-engine/document-fields.ts'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { readIndexStates } from '../../src/search-engine/index-states.ts'
import { runCommand } from '../cli/command.ts'
import { spawnChild } from '../servers/child-lifetime.ts'
import { startMeilisearch } from '../servers/meilisearch.ts'
import { startPostgres } from '../servers/postgres.ts'
import type { RunningServer } from '../servers/running-server.ts'
import { insertGeneratedProducts } from './support/data/generated-products.ts'
import { quantile } from './support/load/quantile.ts'

const help = `
Usage: node scripts/bench/sync.ts [--products N] [--singles N] [--settled N] [--burst N]
         [--bursts N]

Starts PostgreSQL and Meilisearch in a temporary directory, generates N products, and builds
the index with scripts/indexer.ts. Prints the speed of the build as a share of a direct upload
of the same documents, how long single changes take from commit until they are searchable,
and how fast bursts of changes are indexed compared with direct uploads.

  --products N  number of products. Default: 50000
  --singles N   number of single changes. Default: 100
  --settled N   the same again while a transaction is open that began before N further changes,
                which have been indexed: PostgreSQL cannot remove their rows. Also prints what
                a poll of the API and of the indexer takes then. Default: 0
  --burst N     products changed by each burst. Default: 10000
  --bursts N    number of bursts. Default: 3
`

const options = {
  products: { type: 'string', default: '50000' },
  singles: { type: 'string', default: '100' },
  settled: { type: 'string', default: '0' },
  burst: { type: 'string', default: '10000' },
  bursts: { type: 'string', default: '3' },
} as const

const masterKey = 'a-master-key-for-measuring'
const liveIndex = nameWithVersion('products')
const uploadIndex = 'direct-upload'
const uploadSize = 20_000
/** The settled changes are of few products, because only their rows matter. */
const settledBatch = 100_000
const settledProducts = 1_000
const polls = 200

const seconds = (startedAt: number) => (performance.now() - startedAt) / 1_000
const whole = (number: number) => Math.round(number).toLocaleString('en')
/** Returns the value after this share of the list: a quantile if the list is sorted. */
const valueAt = (values: number[], share: number) =>
  Math.round(values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0)

type Bench = { db: Database; engine: Meilisearch; products: number }
type Servers = { postgres: RunningServer; meilisearch: RunningServer }

await runCommand(help, options, async (values) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  // As root the servers run under another account, which must be able to enter.
  await chmod(directory, 0o755)
  const servers = await startBenchServers(directory)
  const db = openDatabase(servers.postgres.url, { connections: 3 })
  const engine = openIndexingClient(servers.meilisearch.url, masterKey)
  const bench: Bench = { db, engine, products: Number(values.products) }
  const output = openSync(join(directory, 'indexer.log'), 'w')
  try {
    await migrate(db)
    await insertGeneratedProducts(db, bench.products)
    // Before and after, because the load of the machine may change during the run.
    const uploadBefore = await measureUpload(bench)
    const indexer = startIndexer(servers, output)
    const builds = await measureBuilds(bench, indexer.pid ?? 0)
    const uploadAfter = await measureUpload(bench)
    reportBuilds(bench, builds, [uploadBefore, uploadAfter])
    if (Number(values.singles) > 0)
      console.log(
        'single changes, from commit until searchable: ' +
          (await measureSingleChanges(bench, Number(values.singles))),
      )
    if (Number(values.settled) > 0)
      console.log(
        `the same with ${whole(Number(values.settled))} settled changes behind a snapshot: ` +
          (await measureBesideSnapshot(bench, Number(values.settled), Number(values.singles))),
      )
    for (let n = 1; n <= Number(values.bursts); n++)
      console.log(await measureBurst(bench, Number(values.burst), n))
    await reportDifferences(bench)
    indexer.kill('SIGTERM')
    return 0
  } finally {
    closeSync(output)
    await db.destroy()
    await Promise.all([servers.postgres.stop(), servers.meilisearch.stop()])
    await rm(directory, { recursive: true, force: true })
  }
})

async function startBenchServers(directory: string): Promise<Servers> {
  const settings = { shared_buffers: '256MB', max_wal_size: '2GB' }
  return {
    postgres: await startPostgres({ directory: join(directory, 'postgres'), settings }),
    meilisearch: await startMeilisearch({ directory: join(directory, 'meilisearch'), masterKey }),
  }
}

function startIndexer({ postgres, meilisearch }: Servers, output: number): ChildProcess {
  return spawnChild(process.execPath, ['scripts/indexer.ts'], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      DATABASE_URL: postgres.url,
      MEILI_URL: meilisearch.url,
      MEILI_MASTER_KEY: masterKey,
    },
    stopSignal: 'SIGTERM',
    output,
  })
}

/** Products a second, and the memory of the indexer in megabytes every 250 ms. */
type Builds = { firstRate: number; rebuildRate: number; memory: number[] }

/** Waits for the first build of the index, then requests a rebuild and waits for that. */
async function measureBuilds({ db, products }: Bench, indexerPid: number): Promise<Builds> {
  const memory: number[] = []
  // A build of ten seconds would look one or two percent slower if it were checked less often.
  const untilFinished = async (isFinished: () => Promise<boolean>) => {
    for (let check = 0; !(await isFinished()); check++) {
      if (check % 10 === 0) memory.push(megabytes(indexerPid))
      await sleep(25)
    }
  }
  const firstStartedAt = performance.now()
  await untilFinished(async () => (await indexedAt(db)) !== null)
  const firstRate = products / seconds(firstStartedAt)

  const rebuildStartedAt = performance.now()
  await requestRebuild(db, nameWithVersion('main'))
  await untilFinished(async () => !(await isRebuildPending(db)))
  const rebuildRate = products / seconds(rebuildStartedAt)
  return { firstRate, rebuildRate, memory }
}

function reportBuilds(
  { products }: Bench,
  { firstRate, rebuildRate, memory }: Builds,
  [uploadBefore, uploadAfter]: [number, number],
): void {
  const uploadRate = (uploadBefore + uploadAfter) / 2
  const share = (rate: number) => `${(rate / uploadRate).toFixed(2)} of direct upload`
  console.log(
    `direct upload of ${whole(products)} products: ` +
      `${whole(uploadBefore)}/s before, ${whole(uploadAfter)}/s after`,
  )
  console.log(`first build:   ${whole(firstRate)}/s, ${share(firstRate)}`)
  console.log(`rebuild:       ${whole(rebuildRate)}/s, ${share(rebuildRate)}`)
  const memoryAt = [0.25, 0.5, 0.75, 1].map((share) => valueAt(memory, share))
  console.log(
    `memory of the indexer at 25, 50, 75 and 100 % of the builds: ${memoryAt.join(', ')} MB`,
  )
}

async function reportDifferences({ db, engine }: Bench): Promise<void> {
  const { missing, stale, extra } = await verifyIndex({
    db,
    client: engine,
    indexName: liveIndex,
    registrationName: nameWithVersion('main'),
  })
  console.log(
    `differences in the index: ${missing.length} missing, ${stale.length} stale, ` +
      `${extra.length} extra`,
  )
}

/** Returns documents a second when they are only uploaded, 20,000 in each request. */
async function measureUpload({ db, engine, products }: Bench): Promise<number> {
  await engine.deleteIndexIfExists(uploadIndex)
  await engine.createIndex(uploadIndex, { primaryKey: 'id' }).waitTask()
  await engine.index(uploadIndex).updateSettings(indexSettings).waitTask()
  const bodies: string[] = []
  for await (const documents of readAllDocuments(db, uploadSize)) bodies.push(toBody(documents))
  const startedAt = performance.now()
  await upload(engine, bodies)
  const rate = products / seconds(startedAt)
  await engine.deleteIndex(uploadIndex).waitTask({ timeout: 60_000 })
  return rate
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
  { db, engine, products }: Bench,
  count: number,
): Promise<string> {
  const index = engine.index(liveIndex)
  const times: number[] = []
  for (let n = 1; n <= count; n++) {
    const token = `zq${n.toString(36)}x${Date.now().toString(36)}`
    const id = String(1 + ((n * 7_919) % products))
    await db
      .updateTable('products')
      .set({ name: `Pieza ${token}` })
      .where('id', '=', id)
      .execute()
    const startedAt = performance.now()
    while ((await index.search(`"${token}"`, { limit: 1 })).hits.length === 0) await sleep(5)
    times.push(performance.now() - startedAt)
    await sleep(50 + ((n * 37) % 150))
  }
  times.sort((a, b) => a - b)
  return (
    `p50 ${valueAt(times, 0.5)} ms, p95 ${valueAt(times, 0.95)} ms, ` +
    `p99 ${valueAt(times, 0.99)} ms, maximum ${valueAt(times, 1)} ms`
  )
}

/** Measures single changes while a transaction is open that still sees so many settled rows. */
async function measureBesideSnapshot(
  bench: Bench,
  settled: number,
  count: number,
): Promise<string> {
  const { db } = bench
  const snapshot = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  await sql`select from products limit 1`.execute(snapshot)
  for (let inserted = 0; inserted < settled; inserted += settledBatch) {
    await sql`
      insert into index_outbox (registration_name, product_id)
      select ${nameWithVersion('main')}, 1 + n % ${settledProducts}
      from generate_series(1, ${Math.min(settledBatch, settled - inserted)}::integer) n
    `.execute(db)
    await untilNothingIsPending(db)
  }
  const times = await measureSingleChanges(bench, count)
  const polls = await measurePolls(db)
  await snapshot.rollback().execute()
  return `${times}\n${polls}`
}

/** Measures the two queries that ask PostgreSQL again and again whether products have changed. */
async function measurePolls(db: Database): Promise<string> {
  const registrationName = nameWithVersion('main')
  const time = async (poll: () => Promise<unknown>) => {
    const times: number[] = []
    for (let n = 0; n < polls; n++) {
      const startedAt = performance.now()
      await poll()
      times.push(performance.now() - startedAt)
    }
    return `p50 ${quantile(times, 0.5).toFixed(2)} ms, p95 ${quantile(times, 0.95).toFixed(2)} ms`
  }
  return (
    `a poll of the API: ${await time(() => readIndexStates(db, [registrationName]))}; ` +
    `of the indexer: ${await time(() => readOutbox(db, registrationName, 2))}`
  )
}

async function untilNothingIsPending(db: Database): Promise<void> {
  const findPending = () => db.selectFrom('index_outbox').select('id').limit(1).executeTakeFirst()
  while (await findPending()) await sleep(10)
}

/**
 * Changes many products in one statement and waits until no change is pending. Then uploads the
 * same documents directly to a copy of the index.
 */
async function measureBurst(
  { db, engine, products }: Bench,
  count: number,
  n: number,
): Promise<string> {
  await copyIndex({ db, engine, products })
  const step = Math.max(1, Math.floor(products / count))
  await sql`
    update products set name = name || ${` b${n}`} where id % ${step} = 0
  `.execute(db)
  const changedAt = performance.now()
  await untilNothingIsPending(db)
  const indexingSeconds = seconds(changedAt)
  const { rows } = await sql<{ id: string }>`
    select id from products where id % ${step} = 0 order by id
  `.execute(db)
  const changed = new Set(rows.map((row) => row.id))
  const changedDocuments: ProductDocument[] = []
  for await (const documents of readAllDocuments(db, 5_000))
    changedDocuments.push(...documents.filter(({ id }) => changed.has(id)))
  const body = toBody(changedDocuments)
  const uploadStartedAt = performance.now()
  await upload(engine, [body])
  const uploadSeconds = seconds(uploadStartedAt)
  await engine.deleteIndex(uploadIndex).waitTask({ timeout: 60_000 })
  return (
    `burst of ${whole(changed.size)}: ${whole(changed.size / indexingSeconds)}/s; ` +
    `direct upload ${whole(changed.size / uploadSeconds)}/s: ` +
    `${(uploadSeconds / indexingSeconds).toFixed(2)}`
  )
}

/** Copies the index before the burst, as the target of the direct upload. */
async function copyIndex(bench: Bench): Promise<void> {
  const { db, engine } = bench
  await engine.deleteIndexIfExists(uploadIndex)
  await engine.createIndex(uploadIndex, { primaryKey: 'id' }).waitTask()
  await engine.index(uploadIndex).updateSettings(indexSettings).waitTask()
  for await (const documents of readAllDocuments(db, uploadSize))
    await upload(engine, [toBody(documents)])
}

/** Yields the documents of all products in batches, by id. */
async function* readAllDocuments(
  db: Database,
  batchSize: number,
): AsyncGenerator<ProductDocument[]> {
  let lastId: string | undefined = '0'
  while (lastId !== undefined) {
    const documents: ProductDocument[] = await readDocumentsAfter(db, lastId, batchSize)
    if (documents.length > 0) yield documents
    lastId = documents.at(-1)?.id
  }
}

function toBody(documents: ProductDocument[]): string {
  return documents.map((document) => toDocumentLine(document).text).join('')
}

async function indexedAt(db: Database): Promise<Date | null> {
  return (
    (await db.selectFrom('search_indexes').select('indexed_at').executeTakeFirst())?.indexed_at ??
    null
  )
}

async function isRebuildPending(db: Database): Promise<boolean> {
  const index = await db
    .selectFrom('search_indexes')
    .select('rebuild_requested_at')
    .executeTakeFirstOrThrow()
  return index.rebuild_requested_at !== null
}

/** Returns the resident memory of a process, or 0 except on Linux. */
function megabytes(pid: number): number {
  try {
    return (
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
    )
  } catch {
    return 0
  }
}
