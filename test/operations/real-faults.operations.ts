// Each alert fires when its fault happens to a running service, and none at rest. The rules are
// those of deploy/alerts.yml with shorter times.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { ensureEngineKeys, indexerKey } from '../../src/indexing/engine-keys.ts'
import { requestRebuild } from '../../src/indexing/index-status.ts'
import { openIndexingClient } from '../../src/indexing/indexing-client.ts'
import { createShareLink } from '../../src/quotes/links/share-links.ts'
import { addQuote } from '../support/add-quote.ts'
import { buildRoleUrl, logins } from '../support/database-roles.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { startRoundRobinRelay } from '../support/round-robin-relay.ts'
import {
  eventually,
  servers,
  startApi,
  startProgram,
  testService,
} from '../support/test-service.ts'
import { startPrometheus } from './fault-world.ts'

const root = join(import.meta.dirname, '../..')
const groups = parse(readFileSync(join(root, 'deploy/alerts.yml'), 'utf8')).groups as {
  rules: { alert: string }[]
}[]
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
/** The alerts whose fault was caused. */
const caused = new Set<string>()

const directory = await mkdtemp(join(tmpdir(), 'tqs-faults-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const { meiliMasterKey } = await servers()
const redis = await startRedis({ directory: join(directory, 'redis') })
if (!redis) throw new Error('Install redis-server.')
t.teardown(() => redis.stop())
const service = await testService(t)
// Only the processes below are scraped and fold.
await service.app.close()
const { db, config } = service

const proxies = {
  postgres: await startFaultyProxy(t, service.url),
  engine: await startFaultyProxy(t, config.MEILI_URL),
}
const prometheus = await startPrometheus(t)

/** Starts an indexer and returns its port and process. */
async function startIndexer(env: Record<string, string> = {}) {
  const port = await choosePort('the indexer')
  const program = startProgram(t, ['scripts/indexer.ts'], {
    INDEXER_DATABASE_URL: service.roles.indexer,
    MEILI_URL: proxies.engine.url,
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
    SEARCH_INDEX: config.SEARCH_INDEX.replace(/-[0-9a-f]{8}$/, ''),
    INDEXER_OPS_PORT: String(port),
    ...env,
  })
  return { port, program }
}

const apiEnv = {
  API_DATABASE_URL: buildRoleUrl(proxies.postgres.url, 'api'),
  DATABASE_URL: buildRoleUrl(proxies.postgres.url, 'api'),
  MEILI_URL: proxies.engine.url,
  SEARCH_INDEX: config.SEARCH_INDEX.replace(/-[0-9a-f]{8}$/, ''),
  SEARCH_ENGINE: 'main',
  REDIS_URL: redis.url,
  DATABASE_CONNECTIONS: '2',
  STATS_LIMIT_PER_MINUTE: '30',
  SEARCH_LIMIT_PER_SECOND: '100000',
  LINK_LIMIT_PER_MINUTE: '100000',
  SEARCH_CACHE_MB: '0',
  LOG_LEVEL: 'warn',
}
await sql`insert into products (sku, name) values ('AB-1', 'Martillo')`.execute(db)
await addQuote(db, 'P-1')
await addQuote(db, 'P-2')
const links = [
  await createShareLink(db, { number: 'P-1' }),
  await createShareLink(db, { number: 'P-2' }),
]
const indexer = await startIndexer()
const api = await startApi(t, service, apiEnv)
const apiPort = Number(new URL(api.opsUrl).port)
prometheus.setTargets({
  'trade-quoting-service': [apiPort],
  'trade-quoting-service-indexer': [indexer.port],
})

/** Repeats a request of a caller until it is stopped. */
function keepCalling(path: string, { atOnce = 1, pauseMs = 20 } = {}): () => Promise<unknown> {
  let isStopped = false
  let count = 0
  const call = async () => {
    while (!isStopped) {
      const url = `${api.url}${path.replace('{n}', String(count++))}`
      await fetch(url, { signal: AbortSignal.timeout(5_000) })
        .then((response) => response.arrayBuffer())
        .catch(() => undefined)
      await sleep(pauseMs)
    }
  }
  const calls = Array.from({ length: atOnce }, call)
  return () => {
    isStopped = true
    return Promise.all(calls)
  }
}

/** Asserts that none of the alerts fires, causes the fault, and asserts that all of them do. */
async function causes(
  t: Test,
  fault: () => Promise<(() => unknown) | undefined>,
  names: string[],
): Promise<void> {
  const before = await eventually(prometheus.listFiring, (firing) =>
    names.every((name) => !firing.includes(name)),
  )
  t.same(
    before.filter((name) => names.includes(name)),
    [],
    `${names} do not fire before`,
  )
  const mend = await fault()
  t.same(await prometheus.waitFor(names), [], `${names} fire`)
  for (const name of names) caused.add(name)
  await mend?.()
}

const stopSearching = keepCalling('/api/search?q=martillo{n}')
const stopReading = keepCalling(`/quote/share/${links[0]}`, { pauseMs: 200 })
t.teardown(stopSearching)
t.teardown(stopReading)

t.test('at rest no alert fires', async (t) => {
  await eventually(
    async () => (await fetch(`http://127.0.0.1:${indexer.port}/health/ready`)).status,
    (status) => status === 200,
    60_000,
  )
  // All windows are past what the start has counted.
  const firing = await eventually(
    async () => {
      await sleep(15_000)
      return prometheus.listFiring()
    },
    (names) => names.length === 0,
    60_000,
  )
  t.same(firing, [])
})

t.test('faults of data', async (t) => {
  await causes(t, async () => {
    await sql`
        insert into products (sku, name, description)
        values ('LONG-1', 'Largo', ${'漢'.repeat(9_900)})
      `.execute(db)
    return () => sql`delete from products where sku = 'LONG-1'`.execute(db)
  }, ['IndexDocumentsParked'])
  await causes(t, async () => {
    await sql`alter table quote_shares disable trigger guard`.execute(db)
    await sql`
        alter table quote_shares drop constraint quote_shares_hash_is_of_document
      `.execute(db)
    await sql`
      update quote_shares set document = replace(document, 'P-2', 'P-9') where id = 2
      `.execute(db)
    return keepCalling(`/quote/share/${links[1]}?format=json`, { pauseMs: 300 })
  }, ['QuoteAltered'])
  await causes(t, async () => {
    await sql`alter table quotes disable trigger user`.execute(db)
    await sql`update quotes set gross = gross + 1, net = net + 1 where number = 'P-1'`.execute(db)
    await sql`alter table quotes enable trigger user`.execute(db)
    return undefined
  }, ['StatsDrift'])
})

t.test('faults of callers and of load', async (t) => {
  await causes(t, async () => keepCalling('/api/stats', { pauseMs: 50 }), ['ManyRateLimited'])
  await causes(t, async () => {
    proxies.engine.delayMs = 260
    const stop = keepCalling('/api/search?q=otro{n}', { atOnce: 2 })
    return async () => {
      await stop()
      proxies.engine.delayMs = 0
    }
  }, ['SearchSlow'])
  await causes(t, async () => {
    proxies.engine.delayMs = 100
    const stop = keepCalling('/api/search?q=mucho{n}', { atOnce: 300, pauseMs: 1 })
    return async () => {
      proxies.engine.delayMs = 0
      await stop()
    }
  }, ['Overloaded'])
  await causes(t, async () => {
    const timer = setInterval(() => {
      api.child.kill('SIGSTOP')
      setTimeout(() => api.child.kill('SIGCONT'), 400)
    }, 900)
    return () => {
      clearInterval(timer)
      api.child.kill('SIGCONT')
    }
  }, ['EventLoopBlocked'])
  await causes(t, async () => {
    const lock = await service.pool.connect()
    await lock.query('begin')
    await lock.query('lock table quote_shares in access exclusive mode')
    const stop = keepCalling(`/quote/share/${links[0]}?format=json`, { atOnce: 8 })
    return async () => {
      await lock.query('rollback')
      lock.release()
      await stop()
    }
  }, ['ConnectionsExhausted'])
})

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

t.test('missing rights', async (t) => {
  const [apiRole, indexerRole] = [sql.id(logins.api.name), sql.id(logins.indexer.name)]
  await causes(t, async () => {
    await sql`revoke execute on function fold_quote_changes(integer) from ${apiRole}`.execute(db)
    await sql`revoke execute on function run_summary_check(date) from ${apiRole}`.execute(db)
    await addQuote(db, 'P-3')
    return async () => {
      await sql`grant execute on function fold_quote_changes(integer) to ${apiRole}`.execute(db)
      await sql`grant execute on function run_summary_check(date) to ${apiRole}`.execute(db)
    }
  }, ['StatsFoldFailing', 'StatsDriftCheckFailing'])
  await sql`revoke execute on function purge_search_report() from ${indexerRole}`.execute(db)
  const other = await startIndexer()
  await causes(
    t,
    async () => {
      prometheus.setTargets({
        'trade-quoting-service': [apiPort],
        'trade-quoting-service-indexer': [other.port],
      })
      return undefined
    },
    // It stands by, and the indexer that works is not scraped.
    ['RegularTaskFailing', 'NoIndexerWorks'],
  )
  prometheus.setTargets({
    'trade-quoting-service': [apiPort],
    'trade-quoting-service-indexer': [indexer.port],
  })
  other.program.child.kill('SIGTERM')
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
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${indexer.port}/health/ready`)).status,
      (status) => status === 200,
      60_000,
    )
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

t.test('a process with a wrong clock, too much memory and wrong settings', async (t) => {
  const second = await startMeilisearch({
    directory: join(directory, 'second'),
    masterKey: meiliMasterKey,
  })
  t.teardown(() => second.stop())
  await ensureEngineKeys(openIndexingClient(second.url, meiliMasterKey))
  const relay = await startRoundRobinRelay(t, [config.MEILI_URL, second.url])
  const balanced = await startIndexer({ MEILI_URL: relay.url, SEARCH_ENGINE: 'balanced' })
  const preload = `
    globalThis.leak = Buffer.alloc(1.1e9, 1)
    const now = Date.now
    Date.now = () => now() + 30_000
  `
  const wrong = await startApi(t, service, {
    ...apiEnv,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
    // It is the primary.
    REPLICA_DATABASE_URL: service.roles.api,
    SEARCH_ENGINE: 'never-built',
    MORE_SEARCH_ENGINES: `balanced=${relay.url}`,
    MEILI_URL: config.MEILI_URL,
  })
  const wrongPort = Number(new URL(wrong.opsUrl).port)
  const targets = {
    'trade-quoting-service': [apiPort, wrongPort],
    'trade-quoting-service-indexer': [indexer.port, balanced.port],
  }
  await causes(t, async () => {
    prometheus.setTargets(targets)
    return undefined
  }, ['ClockWrong', 'MemoryHigh', 'ReplicaNotUsed', 'IndexMissing', 'SeveralServersOfOneEngine'])
  await causes(t, async () => {
    wrong.child.kill('SIGKILL')
    balanced.program.child.kill('SIGKILL')
    return undefined
  }, ['ServiceDown', 'IndexerDown'])
  await causes(t, async () => {
    prometheus.setTargets({ ...targets, 'trade-quoting-service': [apiPort] })
    return undefined
  }, ['FewerProcesses'])
})

t.test('an index that was changed by hand, while no indexer runs', async (t) => {
  indexer.program.child.kill('SIGTERM')
  await indexer.program.exit
  await causes(t, async () => {
    await service.engine
      .index(config.SEARCH_INDEX)
      .updateSettings({ searchableAttributes: ['sku'], sortableAttributes: [] })
      .waitTask()
    return undefined
  }, ['SearchesRejected'])
})

t.test('a discovery that finds nothing', async (t) => {
  await causes(t, async () => {
    prometheus.setTargets({ 'trade-quoting-service': [], 'trade-quoting-service-indexer': [] })
    return undefined
  }, ['NothingScraped', 'IndexerNotScraped'])
})

t.test('every alert was caused', async (t) => {
  t.same([...caused].sort(), alerts.toSorted())
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
