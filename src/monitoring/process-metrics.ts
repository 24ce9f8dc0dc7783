// The metrics that the API counts and sets itself, each declared once with what changes it.
import { Counter, Gauge, type Metric, Registry } from 'prom-client'
import { endpointPaths, searchPath, statsPath } from '../http/endpoint-paths.ts'
import { RequestMetrics, routeLabel } from './request-metrics.ts'
import { addScrapedMetric } from './scraped-metric.ts'

const searchSources = ['cache', 'index', 'database', 'cancelled', 'unavailable', 'failed'] as const
const engineOutcomes = ['answered', 'rejected', 'timeout', 'outage', 'cancelled', 'defect'] as const
const statsOutcomes = ['hit', 'miss', 'collapsed', 'stale']

/** Features call the functions of their own part. /metrics shows the registry. */
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const registry = new Registry()
  const requests = new RequestMetrics(endpointPaths)
  addRequestMetrics(registry, requests)
  const countDegraded = addCounterBy(registry, {
    name: 'tqs_degraded_answers_total',
    help: 'Searches answered by PostgreSQL or incompletely, and statistics that were out of date',
    label: 'route',
    initialValues: [searchPath, statsPath],
  })
  return {
    registry,
    requests,
    search: {
      ...addSearchAnswers(registry, () => countDegraded(searchPath)),
      ...addEngineMetrics(registry),
    },
    stats: addStatsMetrics(registry, () => countDegraded(statsPath)),
    quotes: {
      countAlteredDocument: addCounter(registry, {
        name: 'tqs_altered_documents_total',
        help: 'Readings of a quote document that does not match the hash of its link',
      }),
      countFailedPdf: addCounter(registry, {
        name: 'tqs_pdf_failures_total',
        help: 'Requests for a PDF that the service could not render',
      }),
    },
    shedding: addSheddingMetrics(registry),
  }
}

const durationMetric = {
  name: 'tqs_request_duration_seconds',
  help: 'Duration of requests by route and status class',
  type: 'histogram',
}

function addRequestMetrics(registry: Registry, requests: RequestMetrics): void {
  // A histogram of prom-client only counts by itself. The registry uses only these members.
  const durations = {
    ...durationMetric,
    get: async () => ({ ...durationMetric, values: requests.histogram(durationMetric.name) }),
  }
  registry.registerMetric(durations as unknown as Metric)
  new Counter({
    name: 'tqs_requests_total',
    help: 'Requests by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { route, status, count } of requests.counts()) this.inc({ route, status }, count)
    },
  })
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_rate_limited_requests_total',
    help: 'Requests rejected with 429 because their caller exceeded a rate limit',
    label: 'route',
    read: () => [
      ...endpointPaths.map((path) => [routeLabel(path), 0] as [string, number]),
      ...requests
        .counts()
        .filter(({ status }) => status === 429)
        .map(({ route, count }) => [route, count] as [string, number]),
    ],
  })
}

function addSearchAnswers(registry: Registry, countDegraded: () => void) {
  const countResponse = addCounterBy(registry, {
    name: 'tqs_search_answers_total',
    help:
      'Searches by source; database: PostgreSQL, also for look-ups of exact SKUs; cancelled: the ' +
      'client disconnected; failed: a defect of the service',
    label: 'source',
    initialValues: searchSources,
  })
  return { countResponse, countDegraded }
}

function addEngineMetrics(registry: Registry) {
  const breakerOpen = new Gauge({
    name: 'tqs_search_breaker_open',
    help: '1 while the circuit breaker of every search engine is open',
    registers: [registry],
  })
  const available = new Gauge({
    name: 'tqs_search_engine_available',
    help: '1 while this process sends searches to the engine: its circuit breaker is closed',
    labelNames: ['engine'],
    registers: [registry],
  })
  const requests = new Counter({
    name: 'tqs_search_engine_requests_total',
    help:
      'Searches sent to each engine by outcome; cancelled: the client disconnected; defect: the ' +
      'engine answered, and the service failed',
    labelNames: ['engine', 'outcome'],
    registers: [registry],
  })
  const availability = new Map<string, boolean>()
  /** False if there are no engines. */
  const isEveryBreakerOpen = () =>
    availability.size > 0 && ![...availability.values()].includes(true)
  return {
    setEngineAvailable(engine: string, isAvailable: boolean): void {
      if (!availability.has(engine))
        for (const outcome of engineOutcomes) requests.inc({ engine, outcome }, 0)
      availability.set(engine, isAvailable)
      available.set({ engine }, Number(isAvailable))
      breakerOpen.set(Number(isEveryBreakerOpen()))
    },
    /** Counts only engines whose availability has been set. */
    countEngineAttempt(engine: string, outcome: (typeof engineOutcomes)[number]): void {
      if (availability.has(engine)) requests.inc({ engine, outcome })
    },
    isEveryBreakerOpen,
    listEngines: () => [...availability.keys()],
  }
}

function addStatsMetrics(registry: Registry, countDegraded: () => void) {
  const countAnswer = addCounterBy(registry, {
    name: 'tqs_stats_answers_total',
    help: 'Statistics answers by the outcome of the cache',
    label: 'cache',
    initialValues: statsOutcomes,
  })
  let currentAt: number | null = null
  addScrapedMetric(registry, {
    name: 'tqs_stats_lag_seconds',
    help: 'Time since the statistics summary was last known to contain every committed change',
    read: () => (currentAt === null ? null : (performance.now() - currentAt) / 1_000),
  })
  return {
    /** A moment of performance.now(). */
    setCurrentAt(moment: number): void {
      currentAt = moment
    },
    countResponse(outcome: string): void {
      countAnswer(outcome)
      if (outcome === 'stale') countDegraded()
    },
    countFoldFailure: addCounter(registry, {
      name: 'tqs_stats_fold_failures_total',
      help: 'Failed attempts to fold changes of quotes into the statistics summary',
    }),
    countRepairs: addCounter(registry, {
      name: 'tqs_stats_repaired_rows_total',
      help: 'Rows of the statistics summary that differed from the quotes and were repaired',
    }),
    countDriftCheck: addCounter(registry, {
      name: 'tqs_stats_drift_checks_total',
      help: 'Months of the statistics summary that this process compared with the quotes',
    }),
    countDriftCheckFailure: addCounter(registry, {
      name: 'tqs_stats_drift_check_failures_total',
      help: 'Comparisons of the statistics summary with the quotes that failed',
    }),
  }
}

function addSheddingMetrics(registry: Registry) {
  const countShed = addCounterBy(registry, {
    name: 'tqs_shed_requests_total',
    help: 'Requests rejected with 503 because of overload',
    label: 'route',
    initialValues: endpointPaths.map(routeLabel),
  })
  return { countRejection: (route: string | undefined) => countShed(routeLabel(route)) }
}

type CounterOptions = { name: string; help: string }

function addCounter(registry: Registry, options: CounterOptions): (count?: number) => void {
  const counter = new Counter({ ...options, registers: [registry] })
  return (count) => counter.inc(count)
}

type LabelledCounterOptions = CounterOptions & { label: string; initialValues: readonly string[] }

function addCounterBy(
  registry: Registry,
  { label, initialValues, ...options }: LabelledCounterOptions,
): (value: string) => void {
  const counter = new Counter({ ...options, labelNames: [label], registers: [registry] })
  for (const value of initialValues) counter.inc({ [label]: value }, 0)
  return (value) => counter.inc({ [label]: value })
}
