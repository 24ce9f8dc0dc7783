// Starts the API process, and stops it when it receives a signal.
import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { readCompany } from './company/company-file.ts'
import { checkCompany } from './company/company-record.ts'
import { findNodeProblem, readServerConfig } from './config.ts'
import {
  type Connections,
  closeConnections,
  destroyDatabaseConnections,
  openConnections,
} from './connections.ts'
import type { Database } from './database/postgres-pool.ts'
import { readPendingMigrations } from './database/run-migrations.ts'
import { isBehindPooler } from './database/transaction-pooling.ts'
import { waitForPostgres } from './database/wait-for-postgres.ts'
import { readIndexLags } from './indexing/status.ts'
import { buildApiOperationsApp } from './monitoring/api-operations-app.ts'
import { describeFatalError } from './monitoring/describe-error.ts'
import { openLogDestination } from './monitoring/log/program-log.ts'
import { createMetrics, type Metrics } from './monitoring/process-metrics.ts'
import { redisHealth } from './redis/redis-connection.ts'
import { nameWithVersion } from './search-engine/index-name.ts'
import { readCheckAgeSeconds } from './stats/summary/check-months.ts'
import { foldUntilCurrent } from './stats/summary/fold-statistics.ts'
import { openTraces, type Traces } from './tracing/open-traces.ts'

// Nearly all responses take less, and orchestrators kill a process later.
const drainMs = 5_000
// A second after the requests have drained. A silent PostgreSQL must not delay the stop.
const lastStatementsMs = 6_000
// Two seconds to close connections to servers after the requests have drained.
export const stopMs = 7_000

/** FastifyInstance. test/architecture.test.ts does not let this file import `fastify`. */
type App = Awaited<ReturnType<typeof buildApp>>

/** Starts the process. Resolves when it listens. Tests pass a `clock` to replace the time. */
export async function start(clock?: () => Date): Promise<void> {
  const config = readServerConfig()
  const stopDelayMs = config.STOP_DELAY_SECONDS * 1_000
  const company = readCompany(config.COMPANY_FILE)
  const lifecycle: Lifecycle = { stopping: new AbortController(), running: null }
  const { signal } = lifecycle.stopping
  // Before any await: a signal must also stop a process that waits for Redis or PostgreSQL.
  stopOnSignal(lifecycle, stopDelayMs)
  const traces = await openTraces(
    config.OTEL_EXPORTER_OTLP_ENDPOINT,
    config.OTEL_TRACES_SAMPLER_ARG,
  )
  const connections = await openConnections(config, traces)
  const metrics = createMetrics()
  const app = await buildApp({
    config,
    company,
    indexName: nameWithVersion(config.SEARCH_INDEX),
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
    () => app.server.listening && !signal.aborted,
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
  // The first answer contains what was written before. A first fold may take minutes.
  await foldUntilCurrent(connections.db).catch((err: unknown) =>
    app.log.error({ err }, 'statistics are older than the start: their changes were not folded'),
  )
  if (signal.aborted) return
  await app.listen({ host: getListenAddress(config.HOST), port: config.PORT })
}

/**
 * Returns the address to listen on. With `localhost`, Fastify would listen on 127.0.0.1 and on ::1,
 * with a second server for the latter. Load shedding and the stop of the process know only the
 * first one.
 */
function getListenAddress(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

async function logPooler({ pool }: Connections, app: App): Promise<void> {
  if (await isBehindPooler(pool))
    app.log.info('PostgreSQL is behind a pooler: prepared statements are disabled')
}

function openOperationsApp(
  { db, redis, pool, searchEngines }: Connections,
  redisPrefix: string,
  metrics: Metrics,
  isServing: () => boolean,
): App {
  return buildApiOperationsApp({
    db,
    redis: redis && redisHealth(redis, redisPrefix),
    pool,
    metrics,
    isServing,
    readIndexProgress: () =>
      readIndexLags(
        db,
        searchEngines.map(({ registrationName }) => registrationName),
      ),
    readCheckAgeSeconds: () => readCheckAgeSeconds(db),
    // Search works as long as one engine is healthy.
    engine: { health: () => Promise.any(searchEngines.map(({ engine }) => engine.health())) },
  })
}

type Lifecycle = {
  /** Aborted when the process begins to stop. From then on it is not ready. */
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
 * but these steps have a latest time.
 *
 * | latest time                        | step                                                    |
 * | ---------------------------------- | ------------------------------------------------------- |
 * | 0                                  | The process is not ready, but still answers requests.   |
 * | `stopDelayMs`                      | The app begins to close: it accepts no new connections. |
 * | `stopDelayMs` + `drainMs`          | The connections of open requests are closed.            |
 * | `stopDelayMs` + `lastStatementsMs` | The connections to PostgreSQL are destroyed.            |
 * | `stopDelayMs` + `stopMs`           | The process exits with status 1.                        |
 *
 * After an unexpected error the app begins to close at 0. A second signal ends the process at once.
 */
function stopOnSignal(lifecycle: Lifecycle, stopDelayMs: number): void {
  closeWithGrace({ delay: stopDelayMs + stopMs }, async ({ err }) => {
    const { running } = lifecycle
    lifecycle.stopping.abort()
    if (!running) {
      if (err) console.error(err)
      // Connections may be open. They need no closing: close-with-grace now ends the process.
      return
    }
    const { app, operationsApp, connections, traces } = running
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    else if (stopDelayMs > 0) await sleep(stopDelayMs)
    setTimeout(() => app.server.closeAllConnections(), drainMs).unref()
    // The last statements record the use of API keys. A process that never served has none, and may
    // still wait for a PostgreSQL that does not answer. So its connections are destroyed at once.
    const destroyAfterMs = app.server.listening ? lastStatementsMs : 0
    setTimeout(() => destroyDatabaseConnections(connections), destroyAfterMs).unref()
    // If one of these fails, the process exits with status 1 and prints why.
    await app.close()
    await operationsApp.close()
    await closeConnections(connections)
    await traces?.stop()
  })
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
    exitWithReason(describeFatalError(error))
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
