// Alerts about PostgreSQL, Redis, the search engine and PDFs fire when they fail.
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t from 'tap'
import { requestRebuild } from '../../src/indexing/registration.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { logins } from '../support/database/database-roles.ts'
import { startFaultWorld } from './fault-world.ts'

const {
  api,
  causes,
  config,
  db,
  indexer,
  keepCalling,
  links,
  proxies,
  redis,
  service,
  untilIndexed,
} = await startFaultWorld(t)
const stopSearching = keepCalling('/api/search?q=martillo{n}')
const stopReading = keepCalling(`/quote/share/${links[0]}`, { pauseMs: 200 })
t.teardown(stopSearching)
t.teardown(stopReading)

t.test('a Redis that refuses writes, and PDFs whose process dies', async (t) => {
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  await causes(t, async () => {
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    await client.config('SET', 'maxmemory', '1')
    return () => client.config('SET', 'maxmemory', '0')
  }, ['RedisDown'])
  await causes(t, async () => {
    const timer = setInterval(() => killChildren(api.child.pid ?? 0), 20)
    const stop = keepCalling(`/quote/share/${links[0]}?format=pdf`, { pauseMs: 100 })
    return async () => {
      clearInterval(timer)
      await stop()
    }
  }, ['PdfsFailing'])
})

t.test('an engine that is away, and one that does not answer during a rebuild', async (t) => {
  await causes(t, async () => {
    proxies.engine.refuseConnections()
    await sql`
        insert into products (sku, name) select 'Q-' || n, 'Clavo ' || n
        from generate_series(1, 1500) n
      `.execute(db)
    const timer = setInterval(
      () =>
        void sql`
            insert into products (sku, name) values (gen_random_uuid()::text, 'Clavo')
          `.execute(db),
      200,
    )
    return () => {
      clearInterval(timer)
      proxies.engine.restore()
    }
  }, [
    ...['SearchEngineDown', 'OneSearchEngineDown', 'DegradedAnswers', 'IndexerFailing'],
    ...['IndexBehind', 'IndexQueueGrows'],
  ])
  await causes(t, async () => {
    await untilIndexed()
    proxies.engine.slowText = 'POST /indexes'
    proxies.engine.slowMs = 60_000
    await requestRebuild(db, config.SEARCH_ENGINE)
    return () => {
      proxies.engine.slowText = null
      proxies.engine.refuseConnections()
      proxies.engine.restore()
    }
  }, ['RebuildStuck'])
})

t.test('a PostgreSQL that is away', async (t) => {
  await causes(t, async () => {
    proxies.postgres.refuseConnections()
    return () => proxies.postgres.restore()
  }, ['DatabaseDown', 'Errors', 'ErrorBudgetBurnsFast', 'ErrorBudgetBurnsSlowly'])
})

t.test('missing rights', async (t) => {
  const apiRole = sql.id(logins.api.name)
  await causes(t, async () => {
    await sql`revoke execute on function fold_statistics(integer, pg_snapshot) from ${apiRole}`.execute(
      db,
    )
    await sql`revoke execute on function check_claimed_month(date) from ${apiRole}`.execute(db)
    await addQuote(db, 'P-3')
    return async () => {
      await sql`grant execute on function fold_statistics(integer, pg_snapshot) to ${apiRole}`.execute(
        db,
      )
      await sql`grant execute on function check_claimed_month(date) to ${apiRole}`.execute(db)
    }
  }, ['StatsFoldFailing', 'StatsDriftCheckFailing'])
})

t.test('an index that was changed by hand, while no indexer runs', async (t) => {
  indexer.program.child.kill('SIGTERM')
  await indexer.program.exit
  await causes(t, async () => {
    await service.engine
      .index(config.SEARCH_INDEX)
      .updateSettings({ filterableAttributes: [] })
      .waitTask()
    return keepCalling('/api/search?q=martillo&category=Herramientas')
  }, ['SearchesRejected'])
})

/** The kernel does the same when memory is short. */
function killChildren(pid: number): void {
  const file = `/proc/${pid}/task/${pid}/children`
  for (const child of readFileSync(file, 'utf8').trim().split(' ').filter(Boolean))
    try {
      process.kill(Number(child), 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
}
