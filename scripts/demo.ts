// Runs the whole service on real data without any configuration: servers, data, API and indexer.
import { resolve } from 'node:path'
import { toLocalDate } from '../src/company/calendar.ts'
import { readCompany } from '../src/company/company-file.ts'
import { recordCompany } from '../src/company/company-record.ts'
import { openDatabase, openPool } from '../src/database/postgres-pool.ts'
import { grantRoles } from '../src/database/role-grants.ts'
import { migrate } from '../src/database/run-migrations.ts'
import type { Scope } from '../src/database/table-types.ts'
import { openIndexingClient } from '../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../src/indexing/keys.ts'
import { isIndexUpToDate } from '../src/indexing/status.ts'
import { recordLanguages } from '../src/quotes/record-languages.ts'
import { nameWithVersion } from '../src/search-engine/index-name.ts'
import { foldStatistics } from '../src/stats/summary/fold-statistics.ts'
import { runCommand } from './cli/command.ts'
import {
  createKeysAndLink,
  type DemoFile,
  deleteShellFile,
  writeDemoFiles,
} from './demo/keys-and-link.ts'
import { describeData, isLoaded, loadDemoData, rejectForeignData } from './demo/load-data.ts'
import {
  anonymousScopes,
  companyFile,
  type DemoPorts,
  demoRoles,
  type RunningProgram,
  startPrograms,
  untilReady,
} from './demo/programs.ts'
import { type DemoServers, startDemoServers } from './demo/servers.ts'
import { makeDirectory } from './servers/data-directory.ts'
import { choosePort } from './servers/free-port.ts'

const help = `
Usage: node scripts/demo.ts        (or: make demo)

Starts PostgreSQL, Meilisearch and Redis, loads the demo data on the first start, builds the
search index, runs the API and the indexer on loopback, and prints requests to try. Ctrl+C
stops everything. The data is kept for the next start.

  PORT               port of the API. Default: 3000, or a free port if it is taken
  OPS_PORT           port of health and metrics. Default: 3001, or a free port if it is taken
  DATA_DIR           directory for the data. Default: ./data
  DATABASE_URL       a PostgreSQL to use instead of starting one
  MEILI_URL          a Meilisearch to use instead, with its MEILI_MASTER_KEY
  REDIS_URL          a Redis to use instead
  MEILI_BIN          a Meilisearch program to start instead of the one from npm
  WEB_PARTS          what is served to browsers. Default: palette,dashboard,home
  ANONYMOUS_SCOPES   what callers without a key may do. Default: search:read,stats:read
  PUBLIC_BASE_URL    the address for callers. Default: http://127.0.0.1:PORT
`

/** How many quotes and lines a step of adding up takes. The API does it in smaller, slower steps. */
const foldedAtOnce = 100_000

const startedAt = performance.now()
const reportProgress = (line: string) =>
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`)

await runCommand(help, {}, async () => {
  const directory = resolve(process.env.DATA_DIR || 'data')
  const ports = await choosePorts()
  const stop = new AbortController()
  // A second signal ends this process at once. Its children then stop by themselves.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  makeDirectory(directory)
  let servers: DemoServers | undefined
  const programs: RunningProgram[] = []
  try {
    reportProgress('starting PostgreSQL, Meilisearch and Redis')
    const started = await startDemoServers(directory, reportProgress)
    servers = started
    deleteShellFile(directory)
    if (stop.signal.aborted) return 0
    const aborted = new Promise<undefined>((resolve) =>
      stop.signal.addEventListener('abort', () => resolve(undefined), { once: true }),
    )
    const serverEnded = Promise.race(started.running.map(({ exited }) => exited)).then(fail)
    const start = async () => {
      const demo = await prepare(started, ports, directory, stop.signal)
      // Thrown, so that no program is started.
      stop.signal.throwIfAborted()
      programs.push(...startPrograms(started, ports, demo, directory))
      const programEnded = Promise.race(programs.map(({ exited }) => exited)).then(fail)
      await Promise.race([untilReady(ports, directory, reportProgress, stop.signal), programEnded])
      return { demo, programEnded }
    }
    const running = await Promise.race([start(), serverEnded, aborted])
    if (running) {
      reportProgress('ready')
      printInstructions(running.demo, directory)
      await Promise.race([serverEnded, running.programEnded, aborted])
    }
    return 0
  } finally {
    // Before the programs are stopped, so that no other program is started.
    stop.abort()
    reportProgress('stopping')
    await Promise.all(programs.map((program) => program.stop()))
    await servers?.stop()
  }
})

/** Prepares schema, roles, data, keys and link on running servers. */
async function prepare(
  servers: DemoServers,
  ports: DemoPorts,
  directory: string,
  signal: AbortSignal,
): Promise<DemoFile> {
  const company = readCompany(companyFile)
  const roles = demoRoles(servers)
  const db = openDatabase(servers.databaseUrl, { connections: 3 })
  try {
    await migrate(db)
    await recordCompany(db, company)
    await recordLanguages(db)
    await grantRoles(db, roles.logins)
    await ensurePermanentKeys(openIndexingClient(servers.meiliUrl, servers.meiliMasterKey))
    if (!(await isLoaded(db))) {
      await rejectForeignData(db)
      reportProgress('loading the demo data (on the first start only)')
      const pool = openPool(roles.urls.importer, { connections: 2 })
      const today = toLocalDate(company.timeZone, new Date())
      await loadDemoData(pool, today, reportProgress, signal).finally(() => pool.end())
      reportProgress('adding up the statistics')
      await foldStatistics(db, foldedAtOnce)
    }
    reportProgress(await describeData(db))
    signal.throwIfAborted()
    const demo = await createKeysAndLink(db, servers, ports, company.timeZone, directory)
    // Before the programs start: if the demo is stopped then, the next start finds keys and link.
    writeDemoFiles(directory, demo)
    reportProgress(
      (await isIndexUpToDate(db, nameWithVersion('main')))
        ? 'starting the API; the search index is up to date'
        : 'starting the API and building the search index',
    )
    return demo
  } finally {
    await db.destroy()
  }
}

async function choosePorts(): Promise<DemoPorts> {
  const api = await choosePortOf('The API', 'PORT', 3000)
  const ops = await choosePortOf('Health', 'OPS_PORT', 3001)
  if (ops === api) throw new Error(`PORT and OPS_PORT are both ${api}. Choose two ports.`)
  return { api, ops }
}

/** Another demo may use the default port. Only a port that somebody asked for must be free. */
async function choosePortOf(what: string, name: string, defaultPort: number): Promise<number> {
  const text = process.env[name]
  if (text === undefined || text === '')
    return choosePort(what, defaultPort).catch(() => choosePort(what))
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error(`${name} is not a port number: ${text}`)
  return choosePort(`${what} (${name})`, Number(text))
}

function fail(reason: string): never {
  throw new Error(reason)
}

/** Prints what to try. The demo keeps its data in `directory`. */
function printInstructions(demo: DemoFile, directory: string): void {
  const scopes = anonymousScopes()
  const keys: Record<Scope, string> = {
    'search:read': demo.searchKey,
    'stats:read': demo.statsKey,
    'stats:detail': demo.detailKey,
  }
  const withKey = (scope: Scope, path: string) =>
    `curl -H 'Authorization: Bearer ${keys[scope]}' '${demo.url}${path}'`
  const curl = (scope: Scope, path: string) =>
    scopes.split(',').includes(scope) ? `curl '${demo.url}${path}'` : withKey(scope, path)
  const permission =
    scopes === ''
      ? 'callers without a key may do nothing'
      : `callers without a key have the scopes ${scopes.replaceAll(',', ', ')}`
  const year2011 = 'from=2011-01-01&to=2011-12-31'
  console.log(`
Requests to try (${permission}):

  ${curl('search:read', '/api/search?q=jumbo+strage+bag')}
  ${curl('search:read', '/api/search?q=taladro&facets=category,brand')}
  ${curl('stats:read', '/api/stats?to=2011-12-31')}
  ${curl('stats:read', `/api/stats?${year2011}&country=ES&compare=previous_year`)}
  ${withKey('stats:detail', `/api/stats?${year2011}&by=product`)}
  ${withKey('search:read', '/api/search?q=85123a')}
  curl '${demo.opsUrl}/health/ready'

Pages to open in a browser: the home page with code to copy, the dashboard, and a quote in
Spanish (add ?lang=en or ?format=json to its address):

  ${demo.url}/
  ${demo.url}/dashboard?${year2011}
  ${demo.shareUrl}

Keys without a rate limit:   search:read   ${demo.searchKey}
                             stats:read    ${demo.statsKey}
                             stats:detail  ${demo.detailKey}

The data is Online Retail (UCI, doi 10.24432/C5BW33), CC0. The quotes numbered EJ-… are
invented examples. See demo/NOTICE.md.
Data and logs are kept in ${directory}. To use scripts/run on it:

  . '${directory}/demo.env'

Ctrl+C stops everything.
`)
}
