// /health/live and /health/ready, on a port of their own: whether the process runs, and whether it can do its work.
import Fastify, { type FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { SearchEngine } from '../search/engine.ts'
import { readIndexedAt } from '../search/freshness.ts'

export type HealthOptions = { db: Kysely<Tables>; redis: Redis | null; engine: Pick<SearchEngine, 'health'>; engineName: string }

const checkTimeoutMs = 1_000

/**
 * The operations app. `live` is 200 while the process answers. `ready` is 200 while PostgreSQL or the search engine can serve requests (merely
 * degraded without the engine or Redis), and 503 when PostgreSQL is away: figures and quotes need it.
 */
export function buildOperations({ db, redis, engine, engineName }: HealthOptions): FastifyInstance {
  const app = Fastify({ logger: false })

  app.get('/health/live', async () => ({ status: 'live' }))

  app.get('/health/ready', async (_request, reply) => {
    const [database, cache, search, indexedAt] = await Promise.all([
      works(sql`select 1`.execute(db)),
      redis ? works(redis.ping()) : null,
      works(engine.health()),
      within(readIndexedAt(db, engineName)).catch(() => null),
    ])
    const degraded = [...(search ? [] : ['search engine']), ...(cache === false ? ['redis'] : [])]
    reply.code(database ? 200 : 503).header('cache-control', 'no-store')
    return {
      status: database ? (degraded.length > 0 ? 'degraded' : 'ready') : 'down',
      degraded,
      checks: { database: word(database), redis: cache === null ? 'not configured' : word(cache), searchEngine: word(search) },
      indexedAt: indexedAt?.toISOString() ?? null,
    }
  })
  return app
}

const word = (works: boolean) => (works ? 'up' : 'down')

function works(check: Promise<unknown>): Promise<boolean> {
  return within(check).then(
    () => true,
    () => false,
  )
}

function within<Result>(work: Promise<Result>): Promise<Result> {
  const limit = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('timed out')), checkTimeoutMs).unref()
  })
  return Promise.race([work, limit])
}
