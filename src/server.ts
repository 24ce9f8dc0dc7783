// Starts the API process, and stops it when it receives a signal.
import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { readCompany } from './company/company.ts'
import { checkCompany } from './company/company-record.ts'
import { findNodeProblem } from './config/node-version.ts'
import {
  getSearchEngines,
  readServerConfig,
  type SearchEngineUrl,
  type ServerConfig,
} from './config.ts'
import {
  createKysely,
  type Database,
  openApiPool,
  openReplicaPool,
  openSearchPool,
} from './database/postgres-pool.ts'
import { createPreparingKysely } from './database/prepared-statements.ts'
import { readPendingMigrations } from './database/run-migrations.ts'
import { isBehindPooler } from './database/transaction-pooling.ts'
import { waitForPostgres } from './database/wait-for-postgres.ts'
import { readIndexLags } from './indexing/index-status.ts'
import { computeIndexShape } from './indexing/rebuild/index-shape.ts'
import { buildApiOperationsApp } from './monitoring/api-operations-app.ts'
import { describeFailedStart } from './monitoring/describe-error.ts'
import { openLogDestination } from './monitoring/log/log-destination.ts'
import { createMetrics, type Metrics } from './monitoring/process-metrics.ts'
import { openRedis, redisHealth } from './redis/redis-connection.ts'
import type { RegisteredEngine } from './search-engine/engine-selection.ts'
import { openSearchEngine } from './search-engine/search-client.ts'
import { nameWithShape } from './search-engine/shape-suffix.ts'
import { readDrift } from './stats/summary/drift-check.ts'
import { readUnfoldedChanges } from './stats/summary/fold-changes.ts'
import { timeouts } from './timeouts.ts'
import { openTraces, type Traces } from './tracing/open-traces.ts'

type App = Awaited<ReturnType<typeof buildApp>>
type Connections = Awaited<ReturnType<typeof openConnections>>

/** Starts the process. Resolves when it listens. Tests pass a `clock` to replace the time. */
export async function start(clock?: () => Date): Promise<void> {
  const config = readServerConfig()
  // A hash of the index settings and of sample documents. The names of indexes and registrations
  // end with it, so releases whose indexes differ never share one.
  const indexShape = computeIndexShape()
  const stopDelayMs = config.STOP_DELAY_SECONDS * 1_000
  const company = readCompany(config.COMPANY_FILE)
  const lifecycle: Lifecycle = { isServing: false, stopping: new AbortController(), running: null }
  const { signal } = lifecycle.stopping
  // First, so that a signal also stops a process that still waits for Redis or PostgreSQL.
  stopOnSignal(lifecycle, stopDelayMs)
  const traces = await openTraces(
    config.OTEL_EXPORTER_OTLP_ENDPOINT,
    config.OTEL_TRACES_SAMPLER_ARG,
  )
  const connections = await openConnections(config, indexShape, traces)
  const metrics = createMetrics()
  const app = await buildApp({
    config,
    company,
    indexName: nameWithShape(config.SEARCH_INDEX, indexShape),
    connections,
    metrics,
    traces,
    logger: { level: config.LOG_LEVEL, stream: openLogDestination() },
    ...(clock && { clock }),
  })
  const operationsApp = openOperationsApp(
    connections,
    config.REDIS_PREFIX,
    metrics,
    () => lifecycle.isServing,
  )
  if (signal.aborted) return
  lifecycle.running = { app, operationsApp, connections, traces }

  // Listens before PostgreSQL is available, so the process is live but not ready while it waits.
  await operationsApp.listen({ host: config.OPS_HOST, port: config.OPS_PORT })
  await waitForPostgres(connections.db, {
    timeoutMs: config.START_TIMEOUT_SECONDS * 1_000,
    log: (problem) => app.log.warn(`waiting: ${problem}`),
    signal,
    check: async () => {
      await checkMigrations(connections.db)
      await checkCompany(connections.db, company)
      await logPooler(connections, app)
    },
  })
  if (signal.aborted) return
  await app.listen({ host: config.HOST, port: config.PORT })
  lifecycle.isServing = true
}

async function logPooler({ pool }: Connections, app: App): Promise<void> {
  if (await isBehindPooler(pool))
    app.log.info(
      'PostgreSQL is behind a pooler: each transaction sets its limits, and prepared statements ' +
        'are disabled',
    )
}

async function openConnections(config: ServerConfig, indexShape: string, traces: Traces | null) {
  const pool = openApiPool(config.DATABASE_URL, config.DATABASE_CONNECTIONS)
  const redis = config.REDIS_URL === undefined ? null : await openRedis(config.REDIS_URL)
  const openEngine = ({ name, url }: SearchEngineUrl): RegisteredEngine => ({
    registrationName: nameWithShape(name, indexShape),
    engine: openSearchEngine(url, config.MEILI_SEARCH_KEY),
  })
  const [first, ...others] = getSearchEngines(config)
  const searchEngines: [RegisteredEngine, ...RegisteredEngine[]] = [
    openEngine(first),
    ...others.map(openEngine),
  ]
  const replicaUrl = config.REPLICA_DATABASE_URL
  const searchPool = openSearchPool(config.DATABASE_URL)
  const replicaPool = replicaUrl === undefined ? null : openReplicaPool(replicaUrl)
  if (traces) {
    for (const traced of [pool, searchPool, replicaPool]) if (traced) traces.tracePool(traced)
    for (const { engine } of searchEngines) traces.traceEngine(engine)
    if (redis) traces.traceRedis(redis)
  }
  return {
    /** The primary, DATABASE_CONNECTIONS, statements of up to 10 s. For metrics and the stop. */
    pool,
    /** On `pool`. For API keys, search, the search report, and the checks of start and health. */
    db: createKysely(pool),
    /** On `pool`. For statistics and quote links, whose few statements are expensive to plan. */
    dbWithPreparedStatements: createPreparingKysely(pool),
    /** The replica, if there is one, statements of up to half a second. For the stop. */
    replicaPool,
    /** On `replicaPool`. For reads of statistics and quotes while the replica is up to date. */
    replicaDb: replicaPool && createPreparingKysely(replicaPool),
    /** The primary, 2 connections, statements of up to 800 ms. For searches without an engine. */
    searchPool,
    redis,
    searchEngines,
  }
}

function openOperationsApp(
  { db, redis, pool, searchEngines }: Connections,
  keyPrefix: string,
  metrics: Metrics,
  isServing: () => boolean,
): App {
  return buildApiOperationsApp({
    db,
    redis: redis && redisHealth(redis, keyPrefix),
    pool,
    metrics,
    isServing,
    readIndexProgress: () =>
      readIndexLags(
        db,
        searchEngines.map(({ registrationName }) => registrationName),
      ),
    readUnfoldedChanges: () => readUnfoldedChanges(db),
    readDrift: () => readDrift(db),
    // Search works as long as one engine is healthy.
    engine: { health: () => Promise.any(searchEngines.map(({ engine }) => engine.health())) },
  })
}

type Lifecycle = {
  isServing: boolean
  stopping: AbortController
  /** Null until connections and apps are open. */
  running: {
    app: App
    operationsApp: App
    connections: Connections
    traces: Traces | null
  } | null
}

/**
 * Stops the process in the reverse order of its start. It exits as soon as everything is closed,
 * but these steps have a latest time. `drain`, `lastStatements` and `stop` are those of
 * `timeouts.process`.
 *
 * | latest time                      | step                                                    |
 * | -------------------------------- | ------------------------------------------------------- |
 * | 0                                | The process is not ready, but still answers requests.   |
 * | `stopDelayMs`                    | The app begins to close: it accepts no new connections. |
 * | `stopDelayMs` + `drain`          | The connections of open requests are closed.            |
 * | `stopDelayMs` + `lastStatements` | The connections to PostgreSQL are destroyed.            |
 * | `stopDelayMs` + `stop`           | The process exits with status 1.                        |
 *
 * After an unexpected error the app begins to close at 0. A second signal ends the process at once.
 */
function stopOnSignal(lifecycle: Lifecycle, stopDelayMs: number): void {
  closeWithGrace({ delay: stopDelayMs + timeouts.process.stop.ms }, async ({ err }) => {
    const { running, isServing } = lifecycle
    lifecycle.isServing = false
    lifecycle.stopping.abort()
    if (!running) {
      if (err) console.error(err)
      return
    }
    const { app, operationsApp, connections, traces } = running
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    else if (stopDelayMs > 0) await sleep(stopDelayMs)
    setTimeout(() => app.server.closeAllConnections(), timeouts.process.drain.ms).unref()
    // The last statements record the use of API keys. A process that never served has none, and may
    // still wait for a PostgreSQL that does not answer. So its connections are destroyed at once.
    const destroyAfterMs = isServing ? timeouts.process.lastStatements.ms : 0
    setTimeout(() => destroyDatabaseConnections(connections), destroyAfterMs).unref()
    await app.close()
    await operationsApp.close()
    await connections.db.destroy()
    await connections.searchPool.end()
    await connections.replicaDb?.destroy()
    connections.redis?.disconnect()
    await Promise.all(connections.searchEngines.map(({ engine }) => engine.close()))
    await traces?.stop()
  })
}

/** Destroys all connections, so that a PostgreSQL that does not answer cannot delay the stop. */
function destroyDatabaseConnections({ pool, searchPool, replicaPool }: Connections): void {
  for (const each of [pool, searchPool, replicaPool]) each?.destroyConnections()
}

async function checkMigrations(db: Database): Promise<void> {
  const pending = await readPendingMigrations(db)
  if (pending.length === 0) return
  throw new Error(
    `The database lacks ${pending.join(', ')}: run \`make migrate\` (scripts/migrate.ts) first.`,
  )
}

/** Starts the process. If that fails, prints the reason and ends the process with status 1. */
export async function startOrExit(): Promise<void> {
  try {
    await start()
  } catch (error) {
    exitWithReason(describeFailedStart(error))
  }
}

function exitWithReason(reason: string): never {
  console.error(reason)
  process.exit(1)
}

// Checked before import.meta.main, which an older Node does not set here.
const nodeProblem = findNodeProblem(process.versions.node)
if (nodeProblem !== null) exitWithReason(nodeProblem)
if (import.meta.main) await startOrExit()
