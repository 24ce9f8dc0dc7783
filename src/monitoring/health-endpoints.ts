// The operations app, on a port of its own: /health/live, /health/ready and /metrics.
import Fastify, { type FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { answerWithProblems } from '../http/problem-details.ts'
import { type IndexProgress, type Metrics, metricsRegistry } from './metrics.ts'

export type OperationsOptions = {
  db: Kysely<Tables>
  redis: Redis | null
  engine: { health(): Promise<unknown> }
  /** How far the search index is; null while there is none. */
  index: () => Promise<IndexProgress | null>
  pool: { totalCount: number; idleCount: number; waitingCount: number }
  metrics: Metrics
  /** False from when the process stops, or as long as it waits for something. */
  isServing?: () => boolean
}

const checkTimeoutMs = 1_000

/**
 * `live` is 200 while the process answers. `ready` is 200 while PostgreSQL is there and the process serves, also when it is merely degraded without the
 * engine or Redis, and 503 otherwise: figures and quotes need PostgreSQL.
 */
export function buildOperations({
  db,
  redis,
  engine,
  index,
  pool,
  metrics,
  isServing = () => true,
}: OperationsOptions): FastifyInstance {
  const app = Fastify({ logger: false })
  answerWithProblems(app, '/health/live, /health/ready and /metrics')

  async function check(): Promise<{
    postgresql: boolean
    redis?: boolean
    search_engine: boolean
  }> {
    const [postgresql, cache, search] = await Promise.all([
      works(sql`select 1`.execute(db)),
      redis ? works(redis.ping()) : null,
      works(engine.health()),
    ])
    // It may call itself well and yet refuse what it is asked.
    return {
      postgresql,
      ...(cache !== null && { redis: cache }),
      search_engine: search && !metrics.told.breakerOpen,
    }
  }
  const progress = () => within(index()).catch(() => null)
  const registry = metricsRegistry({ metrics, pool, index: progress, dependencies: check })

  app.get('/health/live', async () => ({ status: 'live' }))

  app.get('/health/ready', async (_request, reply) => {
    const [{ postgresql, redis, search_engine: search }, state] = await Promise.all([
      check(),
      progress(),
    ])
    const degraded = [...(search ? [] : ['search engine']), ...(redis === false ? ['redis'] : [])]
    const ready = postgresql && isServing()
    reply.code(ready ? 200 : 503).header('cache-control', 'no-store')
    return {
      status: ready
        ? degraded.length > 0
          ? 'degraded'
          : 'ready'
        : postgresql
          ? 'not serving'
          : 'down',
      degraded,
      down: postgresql ? [] : ['database'],
      checks: {
        database: word(postgresql),
        redis: redis === undefined ? 'not configured' : word(redis),
        searchEngine: word(search),
      },
      indexedAt: state?.indexedAt?.toISOString() ?? null,
      indexLagSeconds: state?.lagSeconds ?? null,
      pendingChanges: state?.pending ?? null,
    }
  })

  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType).header('cache-control', 'no-store')
    return registry.metrics()
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
