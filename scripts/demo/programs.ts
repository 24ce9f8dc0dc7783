// The API and the indexer of the demo.
import { createHmac } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Login, Program } from '../../src/database/role-grants.ts'
import { watchExit } from '../servers/child-lifetime.ts'
import { type ReportProgress, stopTimeouts } from '../servers/running-server.ts'
import {
  apiSettings,
  type Env,
  type Installation,
  indexerSettings,
  spawnProgram,
} from '../servers/service.ts'
import type { DemoServers } from './servers.ts'

export const companyFile = join(import.meta.dirname, '../../demo/company.json')
const readyPollMs = 50
/** How often a start that takes long says what it waits for. */
const waitReportMs = 15_000

export type DemoPorts = { api: number; ops: number }

/** The address for callers, without a slash at the end. */
export function demoBaseUrl({ api }: DemoPorts): string {
  return (process.env.PUBLIC_BASE_URL || `http://127.0.0.1:${api}`).replace(/\/+$/, '')
}

export function anonymousScopes(): string {
  return (process.env.ANONYMOUS_SCOPES ?? 'search:read,stats:read').replace(/\s/g, '')
}

/**
 * Returns the database roles of the programs. They are the same at each start without a file of
 * passwords, because the passwords are derived from the engine's master key.
 */
export function demoRoles({ databaseUrl, meiliMasterKey }: DemoServers) {
  const logins = {} as Record<Program, Login>
  const urls = {} as Record<Program, string>
  for (const program of ['api', 'indexer', 'importer'] as const) {
    const hash = createHmac('sha256', meiliMasterKey).update(`database role ${program}`)
    const login = { name: `quotes_${program}`, password: hash.digest('base64url') }
    logins[program] = login
    const url = new URL(databaseUrl)
    url.username = login.name
    url.password = login.password
    urls[program] = url.href
  }
  return { logins, urls }
}

export type RunningProgram = {
  stop(): Promise<void>
  /** Resolves with a message if the program ends before `stop` is called. */
  exited: Promise<string>
}

/** Starts both programs. The home page shows `paletteKey` and `shareUrl`. */
export function startPrograms(
  servers: DemoServers,
  ports: DemoPorts,
  { paletteKey, shareUrl }: { paletteKey: string; shareUrl: string },
  directory: string,
): RunningProgram[] {
  const engine = { name: 'main', url: servers.meiliUrl }
  const installation: Installation = {
    databaseUrls: demoRoles(servers).urls,
    redisUrl: servers.redisUrl,
    engines: [engine],
    masterKey: servers.meiliMasterKey,
    companyFile,
  }
  const { LOG_LEVEL = 'info', WEB_PARTS, SHED_DELAY_MS } = process.env
  const api = {
    ...apiSettings(installation, ports),
    LOG_LEVEL,
    PUBLIC_BASE_URL: demoBaseUrl(ports),
    ANONYMOUS_SCOPES: anonymousScopes(),
    WEB_PARTS: WEB_PARTS || 'palette,dashboard,home',
    ...(SHED_DELAY_MS && { SHED_DELAY_MS }),
    HOME_PALETTE: paletteKey,
    HOME_QUOTE_URL: shareUrl,
  }
  const indexer = { ...indexerSettings(installation, engine), LOG_LEVEL }
  return [
    startProgram('indexer', 'scripts/indexer.ts', indexer, directory),
    startProgram('api', 'src/server.ts', api, directory),
  ]
}

/** Its output goes to a file named after it. */
function startProgram(name: string, script: string, env: Env, directory: string): RunningProgram {
  const logFile = join(directory, `${name}.log`)
  const output = openSync(logFile, 'w', 0o600)
  const child = spawnProgram([script], env, { stopSignal: 'SIGTERM', output })
  closeSync(output)
  const exit = watchExit(child)
  return {
    exited: exit.endedUnexpectedly.then(
      (how) => `The ${name} ended unexpectedly (${how}). Its log is ${logFile}.`,
    ),
    stop: () => exit.stop('SIGTERM', stopTimeouts.programMs),
  }
}

/** Waits until the API accepts requests and the search index is built. */
export async function untilReady(
  ports: DemoPorts,
  directory: string,
  reportProgress: ReportProgress,
  signal: AbortSignal,
): Promise<void> {
  let reportedAt = performance.now()
  while (!signal.aborted) {
    const readiness = await fetch(`http://127.0.0.1:${ports.ops}/health/ready`).then(
      (response) => response.json() as Promise<{ status: string; indexedAt: string | null }>,
      () => null,
    )
    const isReady = readiness && readiness.status !== 'down' && readiness.indexedAt !== null
    if (isReady && (await fetch(`http://127.0.0.1:${ports.api}`).catch(() => null))) return
    if (performance.now() - reportedAt >= waitReportMs) {
      reportedAt = performance.now()
      const [what, log] =
        readiness?.indexedAt === null
          ? ['building the search index', 'indexer.log']
          : ['starting the API', 'api.log']
      reportProgress(`still ${what}; see ${join(directory, log)}`)
    }
    await sleep(readyPollMs)
  }
}
