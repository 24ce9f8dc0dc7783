// The whole service on real data, with nothing to configure: servers, schema, data, index, API and indexer.
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCompany, recordCompany } from '../src/company/company.ts'
import { openDatabase, openPool } from '../src/database/postgres-pool.ts'
import { grantRoles } from '../src/database/roles.ts'
import { migrate } from '../src/database/run-migrations.ts'
import { ensureEngineKeys } from '../src/indexing/engine-keys.ts'
import { isIndexUpToDate } from '../src/indexing/index-status.ts'
import { openEngine } from '../src/indexing/meilisearch-client.ts'
import { runCommand } from './cli/command.ts'
import { type DemoFile, readDemoFile, writeDemoFile } from './demo/demo-file.ts'
import { demoRoles } from './demo/demo-roles.ts'
import { startDemoServers } from './demo/demo-servers.ts'
import { countData, isLoaded, loadDemoData, rejectForeignData } from './demo/load-demo-data.ts'
import { printInstructions } from './demo/printed-instructions.ts'
import { anonymousScopes, demoBaseUrl, environments } from './demo/program-environments.ts'
import {
  reuseOrCreateKey,
  reuseOrCreateLink,
  reuseOrCreatePaletteKey,
} from './demo/saved-keys-and-link.ts'
import { type Program, startProgram } from './demo/start-programs.ts'
import { choosePort } from './servers/free-port.ts'
import { makeDirectory } from './servers/make-directory.ts'

const help = `
Usage: node scripts/demo.ts        (or: make demo)

Starts PostgreSQL, Meilisearch and Redis, loads the demo data on the first start, builds the search index, runs the API and the indexer on
loopback, and prints what to try. Ctrl+C stops everything; the data is kept for the next start.

  PORT          port of the API. Default: 3000
  OPS_PORT      port of health. Default: 3001, or a free one when that is taken
  DATA_DIR      where the data is kept. Default: ./data
  DATABASE_URL, MEILI_URL with MEILI_MASTER_KEY, REDIS_URL   servers to use instead of starting them
  MEILI_BIN     a Meilisearch program to start instead of the one from npm
  WEB_PARTS     what is served to browsers. Default: palette,dashboard,home
  ANONYMOUS_SCOPES   what callers without a key may do. Default: search:read,stats:read
  PUBLIC_BASE_URL    where callers reach it, if not at http://127.0.0.1:PORT
`

const companyFile = join(import.meta.dirname, '../demo/company.json')
const startedAt = performance.now()
const reportProgress = (line: string) =>
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`)

await runCommand(help, {}, async () => {
  const directory = resolve(process.env.DATA_DIR || 'data')
  const file = join(directory, 'demo.json')
  const port = await choosePort('The API (PORT)', portOf('PORT', 3000))
  const opsPort = await (process.env.OPS_PORT
    ? choosePort('Health (OPS_PORT)', portOf('OPS_PORT', 3001))
    : choosePort('Health', 3001).catch(() => choosePort('Health')))
  if (opsPort === port) throw new Error(`PORT and OPS_PORT are both ${port}: choose two ports.`)
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)

  const earlier = readDemoFile(file)
  makeDirectory(directory)
  reportProgress('starting PostgreSQL, Meilisearch and Redis')
  const servers = await startDemoServers(directory, reportProgress)
  // Only now: a start that fails keeps the keys and the link of the one before.
  rmSync(file, { force: true })
  const programs: Program[] = []
  try {
    const unexpected = Promise.race(servers.started.map((server) => server.exited))
    const demo = await Promise.race([prepare(), unexpected.then(fail), aborted(stop.signal)])
    if (demo) {
      reportProgress('ready')
      printInstructions(demo, anonymousScopes(), directory)
      await Promise.race([
        unexpected.then(fail),
        ...programs.map((program) => program.exited.then(fail)),
        aborted(stop.signal),
      ])
    }
    return 0
  } finally {
    stop.abort()
    reportProgress('stopping')
    await Promise.all(programs.map((program) => program.stop()))
    await Promise.all(servers.started.map((server) => server.stop()))
  }

  async function prepare(): Promise<DemoFile> {
    const company = readCompany(companyFile)
    const db = openDatabase(servers.databaseUrl, { connections: 3 })
    try {
      await migrate(db)
      await recordCompany(db, company)
      const roles = demoRoles(servers)
      await grantRoles(db, roles.logins)
      await ensureEngineKeys(openEngine(servers.meiliUrl, servers.meiliMasterKey))
      if (!(await isLoaded(db))) {
        await rejectForeignData(db)
        reportProgress('loading the demo data (once)')
        const pool = openPool(roles.urls.importer, { connections: 2 })
        await loadDemoData(pool, company, reportProgress, stop.signal).finally(() => pool.end())
      }
      const { products, quotes, lines } = await countData(db)
      reportProgress(
        `the database holds ${number(products)} products, ${number(quotes)} quotes and ${number(lines)} quote lines`,
      )

      stop.signal.throwIfAborted()
      const baseUrl = demoBaseUrl(port)
      const paletteKey = await reuseOrCreatePaletteKey(
        db,
        [new URL(baseUrl).origin],
        earlier?.paletteKey,
      )
      const shareUrl = `${baseUrl}/quote/share/${await reuseOrCreateLink(db, company.timeZone, earlier?.shareUrl)}`
      const env = environments(servers, roles.urls, {
        port,
        opsPort,
        companyFile,
        paletteKey,
        shareUrl,
      })
      const start = (name: 'api' | 'indexer', script: string) =>
        programs.push(startProgram(name, [script], env[name], join(directory, `${name}.log`)))
      const isBuilt = await isIndexUpToDate(db, 'main')
      start('indexer', 'scripts/indexer.ts')
      start('api', 'src/server.ts')
      reportProgress(
        isBuilt
          ? 'the index is there already; starting the API'
          : 'building the index, starting the API',
      )
      const ended = Promise.race(programs.map((program) => program.exited)).then(fail)
      const ready = untilReady(
        `http://127.0.0.1:${port}`,
        `http://127.0.0.1:${opsPort}`,
        stop.signal,
      )
      await Promise.race([ready, ended])

      const demo: DemoFile = {
        url: `http://127.0.0.1:${port}`,
        opsUrl: `http://127.0.0.1:${opsPort}`,
        searchKey: await reuseOrCreateKey(db, 'search:read', earlier?.searchKey),
        statsKey: await reuseOrCreateKey(db, 'stats:read', earlier?.statsKey),
        paletteKey,
        shareUrl,
        databaseUrl: servers.databaseUrl,
        redisUrl: servers.redisUrl,
        meiliUrl: servers.meiliUrl,
        meiliPid: servers.meiliPid,
      }
      writeDemoFile(file, demo)
      return demo
    } finally {
      await db.destroy()
    }
  }
})

/** Ready is: the API takes requests and the search index answers them. */
async function untilReady(url: string, opsUrl: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const search = await fetch(`${opsUrl}/health/ready`).then(
      (answer) => answer.json() as Promise<{ status: string; indexedAt: string | null }>,
      () => null,
    )
    if (
      search?.status !== undefined &&
      search.status !== 'down' &&
      search.indexedAt !== null &&
      (await fetch(url).catch(() => null))
    )
      return
    await sleep(50)
  }
}

function portOf(name: string, fallback: number): number {
  const text = process.env[name]
  if (text === undefined || text === '') return fallback
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error(`${name} is not a port number: ${text}`)
  return Number(text)
}

function number(count: number): string {
  return count.toLocaleString('en-GB')
}

function fail(reason: string): never {
  throw new Error(reason)
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
}
