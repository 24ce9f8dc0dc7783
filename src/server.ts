// Starts the process: config, connections, app, listen; and stops in reverse order.
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.ts'
import { checkCompany, readCompany } from './company.ts'
import { readServerConfig } from './config.ts'
import { openDatabase, openRedis, openSearchEngine } from './connections.ts'
import { pendingMigrations } from './database/migrate.ts'
import { bufferedLog } from './log.ts'
import { buildOperations } from './operations/health.ts'

const nodeMajor = Number(process.versions.node.split('.')[0])

/** Starts everything, and answers when it listens. `clock` tells figures and quotes what time it is. */
export async function start(clock?: () => Date): Promise<void> {
  if (nodeMajor < 24) throw new Error(`Node 24 is needed, this is ${process.version}: run \`make\` targets, which bring their own.`)
  const config = readServerConfig()
  const company = readCompany(config.COMPANY_FILE)
  const db = openDatabase(config.DATABASE_URL, { statementTimeoutMs: 10_000 })
  const redis = config.REDIS_URL === undefined ? null : await openRedis(config.REDIS_URL)
  const engine = openSearchEngine(config.MEILI_URL, config.MEILI_SEARCH_KEY)
  const moreEngines = config.MORE_SEARCH_ENGINES.map((entry) => {
    const [name = '', url = ''] = entry.split(/=(.*)/s)
    return { name, engine: openSearchEngine(url, config.MEILI_SEARCH_KEY) }
  })
  const engines = [engine, ...moreEngines.map((more) => more.engine)]
  const connections = { db, redis, engine, moreEngines }

  const pending = await pendingMigrations(db)
  if (pending.length > 0) throw new Error(`The database lacks ${pending.join(', ')}: run \`make migrate\` (scripts/migrate.ts) first.`)
  await checkCompany(db, company)

  const logger = { level: config.LOG_LEVEL, stream: bufferedLog(process.stdout) }
  const app = await buildApp({ config, company, connections, logger, ...(clock && { clock }) })
  const anyEngine = { health: () => Promise.any(engines.map((one) => one.health())) }
  const operations = buildOperations({ ...connections, engine: anyEngine, engineName: config.SEARCH_ENGINE })
  closeWithGrace({ delay: 10_000 }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    await app.close()
    await operations.close()
    await db.destroy()
    redis?.disconnect()
    for (const one of engines) one.close()
  })
  await operations.listen({ host: config.OPS_HOST, port: config.OPS_PORT })
  await app.listen({ host: config.HOST, port: config.PORT })
}

if (import.meta.main) {
  try {
    await start()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}
