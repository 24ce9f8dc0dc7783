// Engines and programs of an installation as real processes, which a test can kill, pause and start
// again: API processes, and an indexer or more for each engine.
import { join } from 'node:path'
import { startMeilisearch } from '../../../scripts/servers/meilisearch.ts'
import {
  apiSettings,
  type Engine,
  type Env,
  indexerSettings,
} from '../../../scripts/servers/service.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../../../src/indexing/keys.ts'
import { writeCompanyFile } from '../database/company.ts'
import { buildRoleUrls } from '../database/database-roles.ts'
import { fastStart } from '../run-program.ts'
import { chooseFixedPort } from '../servers/fixed-port.ts'
import { runProgram, runServer, type ServiceProcess } from './service-process.ts'

export const masterKey = 'a-master-key-of-an-installation'
/** The default of SEARCH_INDEX. */
export const indexName = 'products'

export type RunningEngine = Engine & { process: ServiceProcess; dataDirectory: string }

export async function startEngine(directory: string, name: string): Promise<RunningEngine> {
  const own = join(directory, name)
  const port = await chooseFixedPort()
  const { server, process } = await runServer(async () => {
    const started = await startMeilisearch({ directory: own, port, masterKey })
    // An engine that lost its data has lost its keys. An operator runs scripts/migrate.ts then.
    await ensurePermanentKeys(openIndexingClient(started.url, masterKey))
    return started
  })
  return { name, url: server.url, process, dataDirectory: join(own, 'data') }
}

/** `env` is read at each start. */
export type RunningApi = { url: string; opsUrl: string; process: ServiceProcess; env: Env }

export type Programs = {
  apis: RunningApi[]
  /** Two for the first engine, and one for each other. */
  indexers: ServiceProcess[]
  /** The programs that ended by themselves. */
  unexpectedExits: string[]
  /** Where the program of this name logs: `api-1`, `indexer-1` and so on. */
  logFile(name: string): string
  stop(): Promise<void>
}

type Servers = { databaseUrl: string; redisUrl: string; engines: readonly [Engine, ...Engine[]] }
type Apis = { count: number; env?: Env; script?: string; flags?: string[] }

const healthTimeoutMs = 2_000

/** Starts the programs with their files in `directory`. Resolves when every API process is ready. */
export async function startPrograms(
  directory: string,
  { databaseUrl, redisUrl, engines }: Servers,
  { count, env: apiEnv = {}, script = 'src/server.ts', flags = [] }: Apis,
): Promise<Programs> {
  const installation = {
    databaseUrls: buildRoleUrls(databaseUrl),
    redisUrl,
    engines: [...engines] as [Engine, ...Engine[]],
    masterKey,
    companyFile: writeCompanyFile(directory),
  }
  const unexpectedExits: string[] = []
  const logFile = (name: string) => join(directory, `${name}.log`)
  const start = (name: string, words: string[], env: Env, isAnswering: () => Promise<boolean>) =>
    runProgram(words, {
      env,
      logFile: logFile(name),
      isAnswering,
      onUnexpectedExit: (status) => void unexpectedExits.push(`${name} ended (${status})`),
    })
  const startIndexer = (engine: Engine, n: number) => {
    const env = { ...fastStart, ...indexerSettings(installation, engine), POPULARITY_MINUTES: '1' }
    return start(`indexer-${n + 1}`, ['scripts/indexer.ts'], env, async () => true)
  }
  const startApi = async (_: unknown, n: number): Promise<RunningApi> => {
    const ports = { api: await chooseFixedPort(), ops: await chooseFixedPort() }
    const [url, opsUrl] = [`http://127.0.0.1:${ports.api}`, `http://127.0.0.1:${ports.ops}`]
    const env = {
      ...fastStart,
      ...apiSettings(installation, ports),
      ANONYMOUS_SCOPES: 'search:read,stats:read',
      // With so many processes on one machine, delays of the event loop are not the API's fault.
      SHED_DELAY_MS: '0',
      // One line for each request would fill gigabytes.
      LOG_LEVEL: 'warn',
      ...apiEnv,
    }
    const process = await start(`api-${n + 1}`, [...flags, script], env, () => isReady(opsUrl))
    return { url, opsUrl, process, env }
  }
  const [indexers, apis] = await Promise.all([
    Promise.all([installation.engines[0], ...engines].map(startIndexer)),
    Promise.all(Array.from({ length: count }).map(startApi)),
  ])
  return {
    apis,
    indexers,
    unexpectedExits,
    logFile,
    async stop() {
      const processes = [...indexers, ...apis.map(({ process }) => process)]
      await Promise.all(processes.map((process) => process.stop()))
    },
  }
}

const isReady = (opsUrl: string) =>
  fetch(`${opsUrl}/health/ready`, { signal: AbortSignal.timeout(healthTimeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )
