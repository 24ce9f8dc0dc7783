// Every alert rule fires on the metrics of its fault, and none on those of a service at rest.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const rulesFile = join(import.meta.dirname, '../../deploy/alerts.yml')
const directory = createTemporaryDirectory(t, 'alerts')

/** The values of a series, one each minute, in the notation of promtool. */
type Series = Record<string, string>

const api = 'instance="api-1:3001", job="trade-quoting-service"'
const labels = (more = '') => `{${[api, more].filter(Boolean).join(', ')}}`
const indexerTarget = 'instance="indexer:3002", job="trade-quoting-service-indexer"'
const indexer = (more = '') => `{${[indexerTarget, more].filter(Boolean).join(', ')}}`
const main = 'engine="main"'
const always = (value: number) => `${value}x500`
const growing = (by: number) => `0+${by}x500`
const search = 'route="/api/search"'
const link = 'route="/quote/share/{token}"'

/** A service at rest, which answers a search and a quote link now and then. */
const rest: Series = {
  [`up${labels()}`]: always(1),
  [`up${indexer()}`]: always(1),
  [`tqs_indexer_failing${indexer(main)}`]: always(0),
  [`tqs_indexer_holds_lease${indexer(main)}`]: always(1),
  [`tqs_indexer_rebuild_running${indexer(main)}`]: always(0),
  [`tqs_indexer_rebuild_products${indexer(main)}`]: always(0),
  [`tqs_regular_task_failing${indexer('task="quote_links"')}`]: always(0),
  ...Object.fromEntries(
    ['postgresql', 'redis', 'search_engine'].map((name) => [
      `tqs_dependency_up${labels(`dependency="${name}"`)}`,
      always(1),
    ]),
  ),
  [`tqs_search_breaker_open${labels()}`]: always(0),
  [`tqs_search_engine_available${labels('engine="main"')}`]: always(1),
  [`tqs_search_engine_requests_total${labels('engine="main", outcome="rejected"')}`]: always(0),
  [`tqs_requests_total${labels(`${search}, status="200"`)}`]: growing(6000),
  [`tqs_requests_total${labels(`${search}, status="503"`)}`]: always(0),
  [`tqs_requests_total${labels(`${link}, status="200"`)}`]: growing(6),
  [`tqs_requests_total${labels(`${link}, status="503"`)}`]: always(0),
  [`tqs_shed_requests_total${labels(search)}`]: always(0),
  [`tqs_shed_requests_total${labels(link)}`]: always(0),
  [`tqs_rate_limited_requests_total${labels(search)}`]: always(0),
  ...Object.fromEntries(
    ['0.1', '0.25', '0.5', '+Inf'].map((le) => [
      `tqs_request_duration_seconds_bucket${labels(`${search}, status_class="2xx", le="${le}"`)}`,
      growing(6000),
    ]),
  ),
  [`tqs_degraded_answers_total${labels(search)}`]: always(0),
  [`tqs_index_built${labels('engine="main"')}`]: always(1),
  [`tqs_index_lag_seconds${labels('engine="main"')}`]: always(0),
  [`tqs_index_pending_changes${labels('engine="main"')}`]: always(0),
  [`tqs_index_parked_documents${labels('engine="main"')}`]: always(0),
  [`tqs_stats_fold_failures_total${labels()}`]: always(0),
  [`tqs_stats_lag_seconds${labels()}`]: always(1),
  [`tqs_stats_repaired_rows_total${labels()}`]: always(0),
  [`tqs_stats_drift_check_age_seconds${labels()}`]: always(60),
  [`tqs_stats_drift_check_failures_total${labels()}`]: always(0),
  [`tqs_altered_documents_total${labels()}`]: always(0),
  [`tqs_pdf_failures_total${labels()}`]: always(0),
  [`tqs_clock_offset_seconds${labels()}`]: always(0.01),
  [`tqs_postgres_waiting${labels()}`]: always(0),
  [`nodejs_eventloop_lag_p99_seconds${labels()}`]: always(0.02),
  [`process_resident_memory_bytes${labels()}`]: always(3e8),
}

/** What differs from rest when the alert must fire. */
const faults: Record<string, Series> = {
  ServiceDown: { [`up${labels()}`]: always(0) },
  NothingScraped: { [`up${labels()}`]: '' },
  // The second process was there until six hours and a quarter.
  FewerProcesses: { [`up${labels().replace('api-1', 'api-2')}`]: '1x375' },
  IndexerDown: { [`up${indexer()}`]: always(0) },
  IndexerNotScraped: { [`up${indexer()}`]: '' },
  IndexerFailing: { [`tqs_indexer_failing${indexer(main)}`]: always(1) },
  NoIndexerWorks: { [`tqs_indexer_holds_lease${indexer(main)}`]: always(0) },
  RebuildStuck: { [`tqs_indexer_rebuild_running${indexer(main)}`]: always(1) },
  RegularTaskFailing: {
    [`tqs_regular_task_failing${indexer('task="quote_links"')}`]: always(1),
  },
  DatabaseDown: { [`tqs_dependency_up${labels('dependency="postgresql"')}`]: always(0) },
  SearchEngineDown: { [`tqs_search_breaker_open${labels()}`]: always(1) },
  OneSearchEngineDown: { [`tqs_search_engine_available${labels('engine="main"')}`]: always(0) },
  SearchesRejected: {
    [`tqs_search_engine_requests_total${labels('engine="main", outcome="rejected"')}`]: growing(1),
  },
  RedisDown: { [`tqs_dependency_up${labels('dependency="redis"')}`]: always(0) },
  // One link in ten fails, among a thousand times as many searches.
  Errors: { [`tqs_requests_total${labels(`${link}, status="503"`)}`]: growing(1) },
  PdfsFailing: { [`tqs_pdf_failures_total${labels()}`]: growing(1) },
  ClockWrong: { [`tqs_clock_offset_seconds${labels()}`]: always(-30) },
  SearchSlow: fastSearches(3000),
  DegradedAnswers: { [`tqs_degraded_answers_total${labels(search)}`]: growing(60) },
  IndexMissing: {
    [`tqs_index_built${labels('engine="main"')}`]: always(0),
    [`tqs_index_lag_seconds${labels('engine="main"')}`]: '',
  },
  IndexBehind: { [`tqs_index_lag_seconds${labels('engine="main"')}`]: always(61) },
  IndexQueueGrows: { [`tqs_index_pending_changes${labels('engine="main"')}`]: '2000+10x500' },
  IndexDocumentsParked: { [`tqs_index_parked_documents${labels('engine="main"')}`]: always(1) },
  StatsFoldFailing: { [`tqs_stats_lag_seconds${labels()}`]: always(301) },
  StatsDrift: { [`tqs_stats_repaired_rows_total${labels()}`]: growing(1) },
  StatsDriftCheckFailing: { [`tqs_stats_drift_check_age_seconds${labels()}`]: always(901) },
  QuoteAltered: { [`tqs_altered_documents_total${labels()}`]: growing(1) },
  ConnectionsExhausted: { [`tqs_postgres_waiting${labels()}`]: always(1) },
  ManyRateLimited: { [`tqs_rate_limited_requests_total${labels(search)}`]: growing(120) },
  Overloaded: { [`tqs_shed_requests_total${labels(search)}`]: growing(120) },
  EventLoopBlocked: { [`nodejs_eventloop_lag_p99_seconds${labels()}`]: always(0.3) },
  MemoryHigh: { [`process_resident_memory_bytes${labels()}`]: always(1.1e9) },
  ErrorBudgetBurnsFast: { [`tqs_requests_total${labels(`${link}, status="503"`)}`]: growing(1) },
  ErrorBudgetBurnsSlowly: {
    [`tqs_requests_total${labels(`${search}, status="503"`)}`]: growing(40),
  },
  LatencyBudgetBurnsFast: fastSearches(1500),
  LatencyBudgetBurnsSlowly: fastSearches(4000),
}

/** This many of 6,000 searches in a minute take less than 100 ms, and all others more than 250. */
function fastSearches(count: number): Series {
  return Object.fromEntries(
    ['0.1', '0.25'].map((le) => [
      `tqs_request_duration_seconds_bucket${labels(`${search}, status_class="2xx", le="${le}"`)}`,
      growing(count),
    ]),
  )
}

const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
  groups: { name: string; rules: { alert: string }[] }[]
}
const rules = groups.flatMap((group) => group.rules)

type Case = { name: string; series: Series; expected: string[] }

/**
 * Writes a test for promtool, which asserts what fires after seven hours, and returns its file.
 * Only these rules are evaluated: all of them in each minute of each case took four minutes on a
 * busy machine.
 */
function writeCase({ name, series, expected }: Case, evaluated = rules): string {
  const ruleFile = join(directory, `${name}.rules.yml`)
  writeFileSync(ruleFile, stringify({ groups: [{ name, rules: evaluated }] }))
  const test = {
    interval: '1m',
    input_series: Object.entries(series)
      .filter(([, values]) => values !== '')
      .map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '7h',
        exp_samples: expected.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  }
  const file = join(directory, `${name}.yml`)
  const text = { rule_files: [ruleFile], evaluation_interval: '1m', tests: [test] }
  writeFileSync(file, stringify(text))
  return file
}

/** Runs promtool on the files. Returns its complaints. */
function check(files: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('promtool', ['test', 'rules', ...files], {
    encoding: 'utf8',
  })
  if (error) throw new Error('Install promtool (the package prometheus of Debian).')
  return status === 0 ? '' : stdout + stderr
}

t.test('the rules are valid', async (t) => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', rulesFile], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stdout + stderr)
})

t.test('no alert fires at rest', async (t) => {
  t.equal(check([writeCase({ name: 'rest', series: rest, expected: [] })]), '')
})

t.test('each alert fires on its fault', async (t) => {
  t.same(Object.keys(faults).sort(), rules.map(({ alert }) => alert).toSorted())
  const files = Object.entries(faults).map(([alert, series]) =>
    writeCase(
      { name: alert, series: { ...rest, ...series }, expected: [alert] },
      rules.filter((rule) => rule.alert === alert),
    ),
  )
  t.equal(check(files), '')
})
