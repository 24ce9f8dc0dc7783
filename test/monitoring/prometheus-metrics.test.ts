// The metrics of /metrics, and their use in the dashboard, the alert rules and the runbook.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createKysely, openPool } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { readIndexLags } from '../../src/indexing/status.ts'
import { buildApiOperationsApp } from '../../src/monitoring/api-operations-app.ts'
import { buildIndexerOperationsApp } from '../../src/monitoring/indexer-operations-app.ts'
import { IndexerState } from '../../src/monitoring/indexer-state.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { redisHealth } from '../../src/redis/redis-connection.ts'
import { readCheckAgeSeconds } from '../../src/stats/summary/check-months.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { eventually } from '../support/eventually.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
const metrics = createMetrics()
// So low that of 50 requests 10 are rejected even if a new minute begins meanwhile.
const service = await testService(t, { metrics, config: { STATS_LIMIT_PER_MINUTE: 20 } })
const operations = (changes: object = {}) => {
  const { db, redis, engine, pool, config } = service
  return buildApiOperationsApp({
    db,
    redis: redisHealth(redis, config.REDIS_PREFIX),
    engine,
    pool,
    metrics,
    readIndexProgress: () => readIndexLags(db, [service.config.SEARCH_ENGINE]),
    readCheckAgeSeconds: () => readCheckAgeSeconds(db),
    ...changes,
  })
}

t.test('a scrape does not count its own queries as waiting', async (t) => {
  const pool = openPool(service.config.DATABASE_URL, { connections: 1 })
  t.teardown(() => pool.end())
  const db = createKysely(pool)
  // As in the program, every query of a scrape uses this pool.
  const readers = {
    readIndexProgress: () => readIndexLags(db, [service.config.SEARCH_ENGINE]),
    readCheckAgeSeconds: () => readCheckAgeSeconds(db),
  }
  const series = await scrape(operations({ db, pool, ...readers }))
  t.match(
    series.filter(({ name }) => name === 'tqs_postgres_waiting'),
    [{ value: 0 }],
  )
})

type Series = { name: string; labels: Record<string, string>; value: number }

async function scrape(app = operations()): Promise<Series[]> {
  const { statusCode, headers, body } = await app.inject('/metrics')
  t.equal(statusCode, 200)
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/)
  return [...body.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]),
      ),
      value: Number(value),
    }),
  )
}

const sample = (series: Series[], name: string, labels: Record<string, string> = {}) =>
  series.find(
    (candidate) =>
      candidate.name === name &&
      Object.entries(labels).every(([key, text]) => candidate.labels[key] === text),
  )?.value

async function sendRequests({ app, db, sync }: TestService): Promise<void> {
  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  await sync()
  await addQuote(db, 'P-1')
  const token = await createQuoteLink(db, { number: 'P-1' })
  // Cached only after the service has read that the index is up to date.
  await eventually(
    async () => {
      for (let times = 0; times < 10; times += 1) await app.inject('/api/search?q=martillo')
      return readMetric(metrics, 'tqs_search_answers_total', { source: 'cache' })
    },
    (cachedAnswers) => cachedAnswers > 0,
  )
  for (let times = 0; times < 50; times += 1) {
    await Promise.all(
      [
        '/api/stats',
        '/api/search?q=martilo',
        '/api/search?nonsense=1',
        `/quote/share/${token}`,
        '/nothing',
      ].map((url) => app.inject(url)),
    )
  }
}

t.test('counts requests, rejections, answers and durations by route', async (t) => {
  await sendRequests(service)
  const series = await scrape()
  t.ok((sample(series, 'tqs_requests_total', { route: '/api/search', status: '200' }) ?? 0) >= 50)
  t.equal(sample(series, 'tqs_requests_total', { route: '/api/search', status: '400' }), 50)
  t.equal(
    sample(series, 'tqs_requests_total', { route: '/quote/share/{token}', status: '200' }),
    50,
  )
  t.equal(sample(series, 'tqs_requests_total', { route: 'none', status: '404' }), 50)
  t.ok((sample(series, 'tqs_rate_limited_requests_total', { route: '/api/stats' }) ?? 0) >= 10)
  t.ok((sample(series, 'tqs_search_answers_total', { source: 'cache' }) ?? 0) > 0)
  t.ok((sample(series, 'tqs_search_answers_total', { source: 'index' }) ?? 0) > 0)
  t.ok((sample(series, 'tqs_stats_answers_total', { cache: 'miss' }) ?? 0) > 0)
  t.equal(sample(series, 'tqs_stats_fold_failures_total'), 0)
  t.equal(sample(series, 'tqs_stats_repaired_rows_total'), 0)
  t.equal(sample(series, 'tqs_stats_drift_check_failures_total'), 0)
  t.equal(sample(series, 'tqs_index_pending_changes'), 0)
  t.equal(sample(series, 'tqs_index_parked_documents'), 0)
  t.equal(sample(series, 'tqs_index_lag_seconds'), 0)
  t.equal(sample(series, 'tqs_index_built'), 1)
  t.equal(sample(series, 'tqs_pdf_failures_total'), 0)
  t.ok(Math.abs(sample(series, 'tqs_clock_offset_seconds') ?? 99) < 1)
  // A machine that is busy with other work may delay the check of a dependency too long.
  for (const dependency of ['postgresql', 'redis', 'search_engine']) {
    const readUp = async () => sample(await scrape(), 'tqs_dependency_up', { dependency })
    t.equal(await eventually(readUp, (isUp) => isUp === 1), 1, `${dependency} is up`)
  }

  const labels = { route: '/api/search', status_class: '2xx' }
  const buckets = series.filter(
    ({ name, labels: bucketLabels }) =>
      name === 'tqs_request_duration_seconds_bucket' &&
      bucketLabels.route === labels.route &&
      bucketLabels.status_class === labels.status_class,
  )
  const counts = buckets.map(({ value }) => value)
  t.same(
    counts,
    counts.toSorted((a, b) => a - b),
    'buckets are cumulative',
  )
  t.equal(counts.at(-1), sample(series, 'tqs_request_duration_seconds_count', labels))
  t.equal(
    counts.at(-1),
    sample(series, 'tqs_requests_total', { route: '/api/search', status: '200' }),
  )
})

t.test('has every metric and label that the dashboard and the alert rules use', async (t) => {
  const dashboard = JSON.parse(read('deploy/grafana-dashboard.json')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  const rules = (
    parse(read('deploy/alerts.yml')) as {
      groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[]
    }
  ).groups.flatMap((group) => group.rules)
  const expressions = [...dashboard.panels.flatMap(({ targets }) => targets), ...rules].map(
    ({ expr }) => expr,
  )
  t.ok(dashboard.panels.length >= 12 && rules.length >= 12)
  const indexer = buildIndexerOperationsApp({
    state: new IndexerState(),
    engine: 'main',
    readIndexProgress: () => readIndexLags(service.db, [service.config.SEARCH_ENGINE]),
  })
  const series = [...(await scrape()), ...(await scrape(indexer))]
  for (const expression of expressions) {
    const used = [...expression.matchAll(/\b((?:tqs|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)]
    t.ok(used.length > 0 || /^(absent\(|count by \(job\) \()?up\{/.test(expression), expression)
    for (const [, name = '', matchers = ''] of used) {
      const metricSeries = series.filter((candidate) => candidate.name === name)
      t.ok(metricSeries.length > 0, name)
      for (const [, label = ''] of matchers.matchAll(/(\w+)=/g)) {
        t.ok(
          label === 'job' || metricSeries.some(({ labels }) => label in labels),
          `${name} has the label ${label}`,
        )
      }
      for (const [, label = '', value = ''] of matchers.matchAll(/(\w+)="([^"$]+)"/g)) {
        t.ok(
          label === 'job' || metricSeries.some(({ labels }) => labels[label] === value),
          `${name} has ${label}="${value}"`,
        )
      }
    }
    for (const [, names = ''] of expression.matchAll(/by \(([^)]*)\)/g)) {
      for (const label of names.split(', ')) {
        const exists =
          label === 'instance' ||
          label === 'job' ||
          series.some(({ name, labels }) => expression.includes(name) && label in labels)
        t.ok(exists, `${expression}: ${label}`)
      }
    }
  }
  const runbook = read('docs/operations/runbook.md')
  for (const { alert, annotations } of rules) {
    t.ok(runbook.includes(`\n### ${alert}\n`), `the runbook explains ${alert}`)
    t.equal(annotations.runbook, `docs/operations/runbook.md#${alert.toLowerCase()}`)
  }
})

t.test('shows an outage in health and metrics, which still respond', async (t) => {
  const unreachableEngine = openIndexingClient('http://127.0.0.1:9', 'none')
  const series = await scrape(
    operations({
      engine: unreachableEngine,
      readIndexProgress: () => Promise.reject(new Error('unreachable')),
    }),
  )
  t.equal(sample(series, 'tqs_dependency_up', { dependency: 'search_engine' }), 0)
  t.equal(sample(series, 'tqs_index_lag_seconds'), undefined)
  t.equal(sample(series, 'tqs_index_built'), undefined)
  const neverBuilt = operations({ readIndexProgress: async () => [] })
  t.equal(sample(await scrape(neverBuilt), 'tqs_index_built'), 0)
  const stopping = await operations({ isServing: () => false }).inject('/health/ready')
  t.equal(stopping.statusCode, 503)
  t.match(stopping.json(), { status: 'not serving' })
  t.equal((await operations({ isServing: () => false }).inject('/health/live')).statusCode, 200)
})
