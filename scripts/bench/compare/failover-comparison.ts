// Measures how long the index is compared with the catalogue after a failover of PostgreSQL that
// loses commits, and how long changes wait meanwhile.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { computeIndexShape } from '../../../src/indexing/documents/index-shape.ts'
import { openIndexingClient } from '../../../src/indexing/engine/indexing-client.ts'
import { isIndexUpToDate } from '../../../src/indexing/index-status.ts'
import { nameWithShape } from '../../../src/search-engine/shape-suffix.ts'
import { type PostgresPair, startPostgresPair } from '../../../test/cluster/postgres-pair.ts'
import { runCommand } from '../../cli/command.ts'
import { runChild, spawnChild } from '../../servers/child-lifetime.ts'
import { startMeilisearch } from '../../servers/meilisearch.ts'
import { insertGeneratedProducts } from '../support/data/generated-products.ts'
import { quantile } from '../support/load/quantile.ts'
import { processorMicroseconds } from '../support/processes/cpu-time.ts'
import { readPostgresSeconds, readPostmasterPid } from '../support/processes/postgres-processes.ts'
import { watchMemory } from '../support/processes/process-memory.ts'

const help = `
Usage: node scripts/bench/compare/failover-comparison.ts [--products N] [--lost N] [--changed N]

Starts PostgreSQL with a streaming replica, Meilisearch and an indexer, and builds the index
of N generated products. Cuts the replication, changes products, waits until the index has the
changes, ends the primary and promotes the replica. Prints how long the comparison of the index
takes, the processor time and the memory, how long changes wait that are made meanwhile, one
each second, and what verify says afterwards.

  --products N  number of products. Default: 100000
  --lost N      inserts that are lost, and as many deletions. Default: 300
  --changed N   changes of products that are lost. Default: 3000
`

const options = {
  products: { type: 'string', default: '100000' },
  lost: { type: 'string', default: '300' },
  changed: { type: 'string', default: '3000' },
} as const

const masterKey = 'a-master-key-for-measuring'
const indexName = nameWithShape('products', computeIndexShape())
const registrationName = nameWithShape('main', computeIndexShape())
const root = join(import.meta.dirname, '../../..')

type Bench = {
  postgres: PostgresPair
  db: Database
  engine: Meilisearch
  enginePid: number
  indexerPid: number
  readLog(): string
}

await runCommand(help, options, async (values) => {
  const [products, lost, changed] = [values.products, values.lost, values.changed].map(Number) as [
    number,
    number,
    number,
  ]
  const cleanups: (() => unknown)[] = []
  const teardown = (cleanup: () => unknown) => void cleanups.unshift(cleanup)
  try {
    const postgres = await startPostgresPair({ teardown })
    const db = openDatabase(postgres.url, { connections: 4 })
    teardown(() => db.destroy())
    await insertGeneratedProducts(db, products)
    const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
    await chmod(directory, 0o755)
    teardown(() => rm(directory, { recursive: true, force: true }))
    const meilisearch = await startMeilisearch({ directory, masterKey })
    teardown(() => meilisearch.stop())
    const env = {
      DATABASE_URL: postgres.url,
      MEILI_URL: meilisearch.url,
      MEILI_MASTER_KEY: masterKey,
      INDEXER_OPS_PORT: '0',
    }
    const { pid: indexerPid, readLog } = startIndexer(directory, env, teardown)
    const engine = openIndexingClient(meilisearch.url, masterKey)
    await until(() => isIndexUpToDate(db, registrationName))
    console.log(`The index of ${products} products is built.`)
    const enginePid = meilisearch.pid ?? 0
    const bench = { postgres, db, engine, enginePid, indexerPid, readLog }
    await loseCommits(bench, lost, changed)
    console.log(await measureComparison(bench, products))
    await until(() => isIndexUpToDate(db, registrationName))
    const { status, output } = await runChild(process.execPath, ['scripts/indexer.ts', 'verify'], {
      cwd: root,
      env,
    })
    console.log(`verify (exit status ${status}): ${output.trim().split('\n').slice(-3).join(' ')}`)
    return 0
  } finally {
    for (const cleanup of cleanups) await cleanup()
  }
})

function startIndexer(
  directory: string,
  env: Record<string, string>,
  teardown: (cleanup: () => unknown) => void,
): { pid: number; readLog(): string } {
  const file = join(directory, 'indexer.log')
  const output = openSync(file, 'w')
  const child = spawnChild(process.execPath, ['scripts/indexer.ts'], {
    cwd: root,
    env,
    stopSignal: 'SIGTERM',
    output,
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  teardown(async () => {
    child.kill('SIGTERM')
    await ended
    closeSync(output)
  })
  return { pid: child.pid ?? 0, readLog: () => readFileSync(file, 'utf8') }
}

/** Changes the catalogue and the index without the replica, and makes that one the primary. */
async function loseCommits({ postgres, db }: Bench, lost: number, changed: number): Promise<void> {
  await postgres.waitForReplica()
  await postgres.cutReplication()
  await sql`
    update products set name = name || ' perdido'
    where id % 7 = 0 and id <= ${7 * changed}
  `.execute(db)
  await sql`delete from products where id % 7 = 1 and id <= ${7 * lost}`.execute(db)
  await sql`
    insert into products (sku, name) select 'LOST-' || n, 'Perdido ' || n
    from generate_series(1, ${sql.lit(lost)}) n
  `.execute(db)
  await until(() => isIndexUpToDate(db, registrationName))
  await postgres.crashPrimary()
  await postgres.promoteReplica()
}

async function measureComparison(bench: Bench, products: number): Promise<string> {
  const { db, enginePid, indexerPid, readLog } = bench
  const postmaster = await readPostmasterPid(db)
  const readSeconds = () => ({
    indexer: processorMicroseconds(indexerPid) / 1_000_000,
    engine: processorMicroseconds(enginePid) / 1_000_000,
    postgres: readPostgresSeconds(postmaster),
  })
  await until(async () => readLog().includes('Comparing the index'))
  const before = readSeconds()
  const startedAt = performance.now()
  const memory = watchMemory(indexerPid)
  const firstMemory = memory.stop().own
  const watched = watchMemory(indexerPid)
  const waits: number[] = []
  const pending: Promise<void>[] = []
  for (
    let n = 1;
    !/corrected|Building the index/.test(readLog().split('Comparing')[1] ?? '');
    n++
  ) {
    const change = measureChange(bench, 1 + ((n * 7_919) % products), n, waits)
    change.catch(() => undefined) // thrown where it is awaited
    pending.push(change)
    await sleep(1_000)
  }
  const elapsed = (performance.now() - startedAt) / 1_000
  const after = readSeconds()
  const ownMemory = watched.stop().own
  await Promise.all(pending)
  waits.sort((a, b) => a - b)
  const [indexer, engine, postgres] = (['indexer', 'engine', 'postgres'] as const).map((name) =>
    (after[name] - before[name]).toFixed(1),
  )
  return [
    readLog().trim().split('\n').slice(-3).join('\n'),
    `compared in ${elapsed.toFixed(1)} s`,
    `processor time: indexer ${indexer} s, Meilisearch ${engine} s, PostgreSQL ${postgres} s`,
    `memory of the indexer: ${Math.round(firstMemory)} MB before, at most ` +
      `${Math.round(ownMemory)} MB`,
    `${waits.length} changes, in the index after: median ${quantile(waits, 0.5).toFixed(1)} s, ` +
      `slowest ${(waits.at(-1) ?? 0).toFixed(1)} s`,
  ].join('\n')
}

/** Changes one product and adds the seconds until the engine has the change. */
async function measureChange(
  { db, engine }: Bench,
  id: number,
  n: number,
  waits: number[],
): Promise<void> {
  const name = `Pieza cambiada ${n}`
  await db.updateTable('products').set({ name }).where('id', '=', String(id)).execute()
  const startedAt = performance.now()
  await until(async () => {
    const [found] = (
      await engine
        .index(indexName)
        .getDocuments<{ name: string }>({ ids: [String(id)], fields: ['name'], limit: 1 })
    ).results
    return found?.name === name
  })
  waits.push((performance.now() - startedAt) / 1_000)
}

/** A failover or a busy machine may take minutes. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await sleep(200)
}
