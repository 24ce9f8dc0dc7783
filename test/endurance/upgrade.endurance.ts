// An upgrade from an older release and the way back, under load: UPGRADE_PRODUCTS (200,000) and
// UPGRADE_QUOTES (500,000). No request fails, and nothing waits for more than two seconds.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { insertGeneratedProducts } from '../../scripts/bench/support/data/generated-products.ts'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { deriveIndexerKey, deriveSearchKey } from '../../src/indexing/engine/permanent-keys.ts'
import { foldBatch } from '../../src/stats/summary/fold-changes.ts'
import { findSummaryDifferences } from '../../src/stats/summary/verify-and-rebuild.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { checkOutBefore } from './older-release.ts'
import { startLoad, summarize } from './upgrade-load.ts'

/** The first migration that the older release lacks. Later ones do not change quote links. */
const firstNewMigration = '0042-figures-of-days'
const productCount = Number(process.env.UPGRADE_PRODUCTS ?? 200_000)
const quoteCount = Number(process.env.UPGRADE_QUOTES ?? 500_000)
const linesPerQuote = 2
/** Two seconds for a lock, and as many for a machine that does everything at once. */
const longestWaitMs = 4_000
const patienceMs = 1_800_000
const masterKey = 'a-master-key-for-the-upgrade-test'

const newer = join(import.meta.dirname, '../..')
type Env = Record<string, string>
/** Times are for whoever reads the output. The output of tap itself shows failures only. */
const print = (line: string) => console.error(line)

t.setTimeout(2 * patienceMs)
t.test(`upgrade and roll back with ${quoteCount} quotes`, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-upgrade-'))
  chmodSync(directory, 0o755)
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const older = join(directory, 'older')
  mkdirSync(older)
  print(`from ${checkOutBefore(firstNewMigration, older)}`)
  const { url, env } = await startServers(t, directory)
  const db = openDatabase(url, { connections: 2, responseTimeoutMs: patienceMs })
  t.teardown(() => db.destroy())
  const seconds = stopwatch()

  await run(t, older, ['scripts/migrate.ts'], env)
  const { generateQuotes } = await importGenerator(older)
  await insertGeneratedProducts(db, productCount)
  const options = { lines: linesPerQuote, throughTriggers: 0, onProgress() {} }
  await generateQuotes(db, quoteCount, options)
  await sql`vacuum analyze`.execute(db)
  await addQuote(db, 'P-1')
  const created = await run(t, older, ['scripts/share.ts', 'create', 'P-1'], env)
  const link = new URL(/https:\S+/.exec(created)?.[0] ?? '').pathname
  seconds('data')
  await run(t, older, ['scripts/indexer.ts', 'build'], env)
  seconds('index of the older release')
  start(t, older, ['scripts/indexer.ts'], { ...env, INDEXER_OPS_PORT: '0' })
  const apis = [await startApi(t, older, env), await startApi(t, older, env)]

  const load = startLoad(
    apis.map((api) => api.url),
    { search: '/api/search?q=marca+{n}', stats: '/api/stats', links: `${link}?format=json` },
    db,
  )
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  seconds('load before')

  load.enter('migrate behind a long reader')
  const reader = openDatabase(url, { connections: 1 })
  const reading = reader.transaction().execute(async (transaction) => {
    await sql`
      select 1 from products, quotes, quote_shares, search_engines, api_key_usage limit 1
    `.execute(transaction)
    await new Promise((resolve) => setTimeout(resolve, 12_000))
  })
  const migrated = await run(t, newer, ['scripts/migrate.ts'], env)
  t.match(migrated, `Applied ${firstNewMigration}, `)
  await reading
  await reader.destroy()
  seconds('migrate, behind a reader of 12 s')

  load.enter('index of the new release')
  await run(t, newer, ['scripts/indexer.ts', 'build'], env)
  start(t, newer, ['scripts/indexer.ts'], { ...env, INDEXER_OPS_PORT: '0' })
  seconds('index of the new release')

  load.enter('rolling restart')
  for (const api of apis) await api.restart(newer)
  seconds('rolling restart')

  load.enter('roll back')
  const rolledBack = await run(t, older, ['scripts/migrate.ts'], env)
  t.match(rolledBack, /newer release \(0042-.*\)\. They are left as they are/)
  for (const api of apis) await api.restart(older)
  seconds('roll back')

  load.enter('after')
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  const phases = summarize(await load.stop())
  for (const phase of phases) print(JSON.stringify(phase))
  t.equal(phases.length, 24, 'there was load of four kinds in each of six phases')
  for (const { name, failed, longest } of phases) {
    t.equal(failed, 0, `${name}: none failed`)
    t.ok(longest < longestWaitMs, `${name}: the longest took ${longest} ms`)
  }
  while ((await foldBatch(db)) > 0);
  t.same(await findSummaryDifferences(db), [], 'the figures are those of the quotes')
})

async function startServers(t: Test, directory: string): Promise<{ url: string; env: Env }> {
  const postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    settings: { shared_buffers: '256MB', max_wal_size: '2GB' },
  })
  t.teardown(() => postgres.stop())
  const redis = await startRedis({ directory: join(directory, 'redis') })
  if (!redis) throw new Error('Install redis-server.')
  t.teardown(() => redis.stop())
  const engine = await startMeilisearch({ directory: join(directory, 'engine'), masterKey })
  t.teardown(() => engine.stop())
  const companyFile = writeCompanyFile(directory)
  const roleUrl = (name: string) => {
    const role = new URL(postgres.url)
    role.username = `upgrade_${name}`
    role.password = 'secret'
    return role.href
  }
  const env = {
    DATABASE_URL: postgres.url,
    API_DATABASE_URL: roleUrl('api'),
    INDEXER_DATABASE_URL: roleUrl('indexer'),
    IMPORTER_DATABASE_URL: roleUrl('importer'),
    REDIS_URL: redis.url,
    MEILI_URL: engine.url,
    MEILI_MASTER_KEY: masterKey,
    MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
    MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
    COMPANY_FILE: companyFile,
    PUBLIC_BASE_URL: 'https://quotes.example',
    ANONYMOUS_SCOPES: 'search:read,stats:read',
    SEARCH_LIMIT_PER_SECOND: '1000000',
    STATS_LIMIT_PER_MINUTE: '1000000',
    LINK_LIMIT_PER_MINUTE: '1000000',
    ALLOWED_HOSTS: '127.0.0.1',
    SHED_DELAY_MS: '0',
    LOG_LEVEL: 'warn',
  }
  return { url: postgres.url, env }
}

/** The generator of the older release, because it builds the summary of that schema. */
async function importGenerator(checkout: string) {
  const file = join(checkout, 'scripts/bench/support/data/generated-quotes.ts')
  return (await import(
    file
  )) as typeof import('../../scripts/bench/support/data/generated-quotes.ts')
}

/** Prints how long each step took. */
function stopwatch(): (step: string) => void {
  let startedAt = performance.now()
  return (step) => {
    print(`${step}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    startedAt = performance.now()
  }
}

/** Starts a program of a checkout. It is killed when the test ends, also if that is killed. */
function start(t: Test, checkout: string, words: string[], env: Env) {
  const child = spawnChild(process.execPath, words, {
    cwd: checkout,
    env,
    stopSignal: 'SIGKILL',
    output: 'pipe',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => {
      output += text
    })
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, exit, output: () => output }
}

/** Runs a program of a checkout to its end, and returns what it printed. Throws if it fails. */
async function run(t: Test, checkout: string, words: string[], env: Env): Promise<string> {
  const program = start(t, checkout, words, env)
  if ((await program.exit) !== 0) throw new Error(`${words.join(' ')}: ${program.output()}`)
  return program.output()
}

/** Starts an API process, which can be replaced by one of another checkout on the same ports. */
async function startApi(t: Test, checkout: string, env: Env) {
  const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
  const startFrom = async (from: string) => {
    const ports = { PORT: String(port), OPS_PORT: String(opsPort) }
    const { DATABASE_URL: _, MEILI_MASTER_KEY: __, ...ofApi } = env
    const program = start(t, from, ['src/server.ts'], { ...ofApi, ...ports })
    const isReady = await eventually(
      () =>
        fetch(`http://127.0.0.1:${opsPort}/health/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
      (ok) => ok || program.child.exitCode !== null,
      120_000,
    )
    if (!isReady) throw new Error(program.output())
    return program
  }
  let program = await startFrom(checkout)
  return {
    url: `http://127.0.0.1:${port}`,
    async restart(from: string) {
      program.child.kill('SIGTERM')
      await program.exit
      program = await startFrom(from)
    },
  }
}
