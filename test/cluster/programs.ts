// The programs of the service in the cluster: three API processes and three indexers, each started
// again by a supervisor when it ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deriveIndexerKey, deriveSearchKey } from '../../src/indexing/keys.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { fastStart } from '../support/run-program.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { runProgram, type ServiceProcess } from '../support/service/service-process.ts'
import { type Engine, indexName, masterKey } from './engines.ts'

/** `env` is read at each start. */
export type Api = { url: string; opsUrl: string; process: ServiceProcess; env: Env }
export type Indexer = { registrationName: string; process: ServiceProcess }
export type Programs = {
  apis: [Api, Api, Api]
  /** Two for the first engine, one for the second. */
  indexers: Indexer[]
  /** Programs that ended by themselves. */
  unexpectedExits: string[]
}
type Env = Record<string, string>
type Servers = { databaseUrl: string; redisUrl: string; engines: [Engine, Engine] }

const healthTimeoutMs = 2_000

/** Starts all of them. They end with the test. */
export async function startPrograms(
  t: { teardown(fn: () => unknown): void },
  servers: Servers,
): Promise<Programs> {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-cluster-programs-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  writeCompanyFile(directory)
  const unexpectedExits: string[] = []
  const start = async (name: string, script: string, env: Env, isAnswering = async () => true) => {
    const process = await runProgram([script], {
      env,
      logFile: join(directory, `${name}.log`),
      isAnswering,
      onUnexpectedExit: (status) => void unexpectedExits.push(`${name} ended (${status})`),
    })
    t.teardown(() => process.stop())
    return process
  }
  const startIndexer = async (name: string, engine: Engine): Promise<Indexer> => ({
    registrationName: engine.name,
    process: await start(name, 'scripts/indexer.ts', indexerEnv(servers.databaseUrl, engine)),
  })
  const startApi = async (name: string): Promise<Api> => {
    const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
    const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
    const env = {
      ...apiEnv(servers),
      COMPANY_FILE: join(directory, 'company.json'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
    }
    const process = await start(name, 'src/server.ts', env, () => isReady(opsUrl))
    return { url, opsUrl, process, env }
  }
  const [first, second] = servers.engines
  const indexers = await Promise.all([
    startIndexer('indexer-1', first),
    startIndexer('indexer-2', first),
    startIndexer('indexer-3', second),
  ])
  const apis = await Promise.all([startApi('api-1'), startApi('api-2'), startApi('api-3')])
  return { apis, indexers, unexpectedExits }
}

const indexerEnv = (databaseUrl: string, { url, name }: Engine): Env => ({
  ...fastStart,
  INDEXER_DATABASE_URL: buildRoleUrl(databaseUrl, 'indexer'),
  MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
  MEILI_URL: url,
  SEARCH_ENGINE: name,
  SEARCH_INDEX: indexName,
})

/** The rate limits are those of an installation that configures none. */
const apiEnv = ({ databaseUrl, redisUrl, engines: [first, second] }: Servers): Env => ({
  ...fastStart,
  API_DATABASE_URL: buildRoleUrl(databaseUrl, 'api'),
  REDIS_URL: redisUrl,
  MEILI_URL: first.url,
  MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
  SEARCH_ENGINE: first.name,
  MORE_SEARCH_ENGINES: `${second.name}=${second.url}`,
  SEARCH_INDEX: indexName,
  ANONYMOUS_SCOPES: 'search:read,stats:read',
  TRUST_PROXY: '127.0.0.1',
  // With so many processes on one machine, delays of the event loop are not the API's fault.
  SHED_DELAY_MS: '0',
  LOG_LEVEL: 'warn',
})

const isReady = (opsUrl: string) =>
  fetch(`${opsUrl}/health/ready`, { signal: AbortSignal.timeout(healthTimeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )
