// The counters of this process, which features increment.
import { RequestMetrics, routeLabel } from './request-durations.ts'

type SearchSource = 'cache' | 'index' | 'database'

export type Metrics = {
  requests: RequestMetrics
  search: { countAnswer(source: SearchSource): void; setAvailable(isAvailable: boolean): void }
  stats: {
    countAnswer(outcome: string): void
    countFoldFailure(): void
    countDriftCheck(): void
    countDriftCheckFailure(): void
  }
  quotes: { countAlteredDocument(): void }
  shedding: { countRejection(route: string | undefined): void }
  /** The current values. */
  values: {
    searchAnswers: Map<string, number>
    statsAnswers: Map<string, number>
    foldFailures: number
    driftChecks: number
    driftCheckFailures: number
    alteredDocuments: number
    rejections: Map<string, number>
    isBreakerOpen: boolean
  }
}

export const searchRoute = '/api/search'
export const statsRoute = '/api/stats'
export const routes = [searchRoute, statsRoute, '/quote/share/:token']
const searchSources: SearchSource[] = ['cache', 'index', 'database']
const statsOutcomes = ['hit', 'shared', 'miss', 'collapsed', 'stale']

/** Returns counters that start at zero. */
export function createMetrics(): Metrics {
  const values = {
    searchAnswers: zeroCounts(searchSources),
    statsAnswers: zeroCounts(statsOutcomes),
    foldFailures: 0,
    driftChecks: 0,
    driftCheckFailures: 0,
    alteredDocuments: 0,
    rejections: zeroCounts(routes.map(routeLabel)),
    isBreakerOpen: false,
  }
  return {
    requests: new RequestMetrics(routes),
    search: {
      countAnswer: (source) => increment(values.searchAnswers, source),
      setAvailable(isAvailable) {
        values.isBreakerOpen = !isAvailable
      },
    },
    stats: {
      countAnswer: (outcome) => increment(values.statsAnswers, outcome),
      countFoldFailure() {
        values.foldFailures += 1
      },
      countDriftCheck() {
        values.driftChecks += 1
      },
      countDriftCheckFailure() {
        values.driftCheckFailures += 1
      },
    },
    quotes: {
      countAlteredDocument() {
        values.alteredDocuments += 1
      },
    },
    shedding: { countRejection: (route) => increment(values.rejections, routeLabel(route)) },
    values,
  }
}

/** Returns a count of zero for each name. */
export function zeroCounts(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name) => [name, 0]))
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
