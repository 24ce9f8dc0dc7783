// Prepares the demo on running servers: schema, roles, data, keys, API and indexer.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Company, readCompany } from '../../src/company/company-file.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { type Database, openDatabase, openPool } from '../../src/database/postgres-pool.ts'
import { grantRoles } from '../../src/database/role-grants.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { isIndexUpToDate } from '../../src/indexing/status.ts'
import { recordLanguages } from '../../src/quotes/record-languages.ts'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { foldStatistics } from '../../src/stats/summary/fold-statistics.ts'
import type { ReportProgress } from '../servers/running-server.ts'
import { type DemoFile, writeDemoFile } from './demo-file.ts'
import { demoRoles } from './demo-roles.ts'
import type { DemoServers } from './demo-servers.ts'
import { countData, isLoaded, loadDemoData, rejectForeignData } from './load-demo-data.ts'
import { demoBaseUrl, programEnvironments } from './program-environments.ts'
import {
  reuseOrCreateKey,
  reuseOrCreateLink,
  reuseOrCreatePaletteKey,
} from './saved-keys-and-link.ts'
import { type Program, startProgram } from './start-programs.ts'

const companyFile = join(import.meta.dirname, '../../demo/company.json')
/** How many quotes and lines a step of adding up takes. */
const loadedBatch = 100_000
const readyPollMs = 50
/** How often a start that takes long says what it waits for. */
const waitReportMs = 15_000

export type DemoOptions = {
  servers: DemoServers
  /** The started programs are added here. */
  programs: Program[]
  directory: string
  /** Where to write the addresses and keys. */
  file: string
  /** The contents of that file after the previous start. */
  previous: Partial<DemoFile> | null
  ports: { api: number; ops: number }
  reportProgress: ReportProgress
  signal: AbortSignal
}

/** Prepares everything and waits until the API is ready. Starts no program after an abort. */
export async function prepareDemo(options: DemoOptions): Promise<DemoFile> {
  const { servers, file, previous, ports, reportProgress, signal } = options
  const company = readCompany(companyFile)
  const roles = demoRoles(servers)
  const db = openDatabase(servers.databaseUrl, { connections: 3 })
  try {
    await migrate(db)
    await recordCompany(db, company)
    await recordLanguages(db)
    await grantRoles(db, roles.logins)
    await ensurePermanentKeys(openIndexingClient(servers.meiliUrl, servers.meiliMasterKey))
    if (!(await isLoaded(db))) await loadData(db, roles.urls.importer, company, options)
    const { products, quotes, lines } = await countData(db)
    reportProgress(
      `the database holds ${format(products)} products, ${format(quotes)} quotes and ` +
        `${format(lines)} quote lines`,
    )
    signal.throwIfAborted()

    const baseUrl = demoBaseUrl(ports.api)
    const origins = [new URL(baseUrl).origin]
    const paletteKey = await reuseOrCreatePaletteKey(db, origins, previous?.paletteKey)
    const token = await reuseOrCreateLink(db, company.timeZone, previous?.shareUrl)
    const shareUrl = `${baseUrl}/quote/share/${token}`
    const demo: DemoFile = {
      url: `http://127.0.0.1:${ports.api}`,
      opsUrl: `http://127.0.0.1:${ports.ops}`,
      searchKey: await reuseOrCreateKey(db, ['search:read'], previous?.searchKey),
      statsKey: await reuseOrCreateKey(db, ['stats:read'], previous?.statsKey),
      detailKey: await reuseOrCreateKey(db, ['stats:read', 'stats:detail'], previous?.detailKey),
      paletteKey,
      shareUrl,
      databaseUrl: servers.databaseUrl,
      redisUrl: servers.redisUrl,
      meiliUrl: servers.meiliUrl,
      meiliPid: servers.meiliPid,
    }
    // Before the programs start: if the demo is stopped then, the next start finds keys and link.
    writeDemoFile(file, demo)
    await startPrograms(db, roles.urls, { paletteKey, shareUrl }, options)
    return demo
  } finally {
    await db.destroy()
  }
}

async function loadData(
  db: Database,
  importerUrl: string,
  company: Company,
  { reportProgress, signal }: DemoOptions,
): Promise<void> {
  await rejectForeignData(db)
  reportProgress('loading the demo data (on the first start only)')
  const pool = openPool(importerUrl, { connections: 2 })
  await loadDemoData(pool, company, reportProgress, signal).finally(() => pool.end())
  reportProgress('adding up the statistics')
  // The API would do it in smaller and slower steps.
  await foldStatistics(db, loadedBatch)
}

/** Starts the indexer and the API, and waits until the API is ready. */
async function startPrograms(
  db: Database,
  roleUrls: ReturnType<typeof demoRoles>['urls'],
  shown: { paletteKey: string; shareUrl: string },
  { servers, programs, directory, ports, reportProgress, signal }: DemoOptions,
): Promise<void> {
  const environments = programEnvironments(servers, roleUrls, { ports, companyFile, ...shown })
  const isIndexed = await isIndexUpToDate(db, nameWithVersion('main'))
  signal.throwIfAborted()
  const logFileOf = (name: string) => join(directory, `${name}.log`)
  for (const [name, script] of [
    ['indexer', 'scripts/indexer.ts'],
    ['api', 'src/server.ts'],
  ] as const)
    programs.push(startProgram(name, script, environments[name], logFileOf(name)))
  reportProgress(
    isIndexed
      ? 'starting the API; the search index is up to date'
      : 'starting the API and building the search index',
  )
  const ended = Promise.race(programs.map((program) => program.exited)).then((reason) => {
    throw new Error(reason)
  })
  const urls = { api: `http://127.0.0.1:${ports.api}`, ops: `http://127.0.0.1:${ports.ops}` }
  const reportWait = (isIndexing: boolean) =>
    reportProgress(
      isIndexing
        ? `still building the search index; see ${logFileOf('indexer')}`
        : `still starting the API; see ${logFileOf('api')}`,
    )
  await Promise.race([untilReady(urls, reportWait, signal), ended])
}

/** Waits until the API accepts requests and the search index is built. */
async function untilReady(
  urls: { api: string; ops: string },
  reportWait: (isIndexing: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  let reportedAt = performance.now()
  while (!signal.aborted) {
    const readiness = await fetch(`${urls.ops}/health/ready`).then(
      (response) => response.json() as Promise<{ status: string; indexedAt: string | null }>,
      () => null,
    )
    if (
      readiness?.status !== undefined &&
      readiness.status !== 'down' &&
      readiness.indexedAt !== null &&
      (await fetch(urls.api).catch(() => null))
    )
      return
    if (performance.now() - reportedAt >= waitReportMs) {
      reportedAt = performance.now()
      reportWait(readiness?.indexedAt === null)
    }
    await sleep(readyPollMs)
  }
}

function format(count: number): string {
  return count.toLocaleString('en-GB')
}
