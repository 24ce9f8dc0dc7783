// Starts the process: config, connections, app, listen; and stops in reverse order.
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { checkCompany, readCompany } from './company/company.ts'
import { readServerConfig } from './config.ts'
import { createKysely, openApiPool } from './database/postgres-pool.ts'
import { pendingMigrations } from './database/run-migrations.ts'
import { waitForPostgres } from './database/wait-for-postgres.ts'
import { readIndexLag } from './indexing/index-status.ts'
import { buildOperations } from './monitoring/health-endpoints.ts'
import { bufferedLog } from './monitoring/log-redaction.ts'
import { startMetrics } from './monitoring/metrics.ts'
import { openRedis } from './redis/redis-connection.ts'
import { openSearchEngine } from './search-engine/engine-client.ts'

const nodeMajor = Number(process.versions.node.split('.')[0])
/** Answers under way have this long to be finished when the process stops; then connections are cut. All in all it takes two seconds more at most. */
const drainMs = 5_000

/** Starts everything, and answers when it listens. `clock` tells figures and quotes what time it is. */
export async function start(clock?: () => Date): Promise<void> {
  if (nodeMajor < 24)
    throw new Error(
      `Node 24 is needed, this is ${process.version}: run \`make\` targets, which bring their own.`,
    )
  const config = readServerConfig()
  const company = readCompany(config.COMPANY_FILE)
  const pool = openApiPool(config.DATABASE_URL)
  const db = createKysely(pool)
  const redis = config.REDIS_URL === undefined ? null : await openRedis(config.REDIS_URL)
  const engine = openSearchEngine(config.MEILI_URL, config.MEILI_SEARCH_KEY)
  const moreEngines = config.MORE_SEARCH_ENGINES.map((entry) => {
    const [name = '', url = ''] = entry.split(/=(.*)/s)
    return { name, engine: openSearchEngine(url, config.MEILI_SEARCH_KEY) }
  })
  const engines = [engine, ...moreEngines.map((more) => more.engine)]
  const connections = { db, redis, engine, moreEngines }
  const metrics = startMetrics()
  const stop = new AbortController()
  let isServing = false

  const logger = { level: config.LOG_LEVEL, stream: bufferedLog(process.stdout) }
  const app = await buildApp({
    config,
    company,
    connections,
    metrics,
    logger,
    ...(clock && { clock }),
  })
  const index = () => readIndexLag(db, config.SEARCH_ENGINE)
  const anyEngine = { health: () => Promise.any(engines.map((one) => one.health())) }
  const operations = buildOperations({
    ...connections,
    engine: anyEngine,
    index,
    pool,
    metrics,
    isServing: () => isServing,
  })
  closeWithGrace({ delay: drainMs + 2_000 }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    isServing = false
    stop.abort()
    setTimeout(() => app.server.closeAllConnections(), drainMs).unref()
    await app.close()
    await operations.close()
    await db.destroy()
    redis?.disconnect()
    for (const one of engines) one.close()
  })
  // First, so that whoever watches sees a process that lives and is not ready yet.
  await operations.listen({ host: config.OPS_HOST, port: config.OPS_PORT })

  await waitForPostgres(db, {
    timeoutMs: config.START_TIMEOUT_SECONDS * 1_000,
    log: (problem) => app.log.warn(`waiting: ${problem}`),
    signal: stop.signal,
  })
  if (stop.signal.aborted) return
  const pending = await pendingMigrations(db)
  if (pending.length > 0)
    throw new Error(
      `The database lacks ${pending.join(', ')}: run \`make migrate\` (scripts/migrate.ts) first.`,
    )
  await checkCompany(db, company)
  await app.listen({ host: config.HOST, port: config.PORT })
  isServing = true
}

if (import.meta.main) {
  try {
    await start()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}
