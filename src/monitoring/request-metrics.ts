// Counts requests and their durations by route and status, in plain numbers: the histogram of
// prom-client costs more than a cached response (docs/decisions.md).
import { toOpenApiPath } from '../http/endpoint-paths.ts'

/** The upper bounds of the buckets in milliseconds. The metric states them in seconds. */
const bucketBoundsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000]

/** `metricName` is the name of the histogram with its suffix, as prom-client requires. */
type HistogramSample = {
  labels: Record<string, string | number>
  value: number
  metricName: string
}
type Durations = { buckets: number[]; sumMs: number; count: number }
type RouteCounts = { byStatusClass: (Durations | undefined)[]; byStatus: Map<number, number> }

export class RequestMetrics {
  readonly #routes: Map<string | undefined, RouteCounts>

  /** `routes` appear in the metrics before their first request. */
  constructor(routes: readonly string[]) {
    this.#routes = new Map(routes.map((route) => [route, newRouteCounts()]))
  }

  /** `route` is the pattern of the route, or undefined if no route matched. */
  countRequest(route: string | undefined, status: number, durationMs: number): void {
    const counts = this.#countsOf(route)
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1)
    const durations = durationsOf(counts, Math.floor(status / 100))
    durations.count += 1
    durations.sumMs += durationMs
    const bucket = bucketBoundsMs.findIndex((boundMs) => durationMs <= boundMs)
    if (bucket !== -1) durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1
  }

  /** Returns the samples of a histogram in seconds, by route and status class. */
  histogram(name: string): HistogramSample[] {
    return [...this.#routes].flatMap(([route, { byStatusClass }]) =>
      byStatusClass.flatMap((durations, statusClass) => {
        const labels = { route: routeLabel(route), status_class: `${statusClass}xx` }
        return durations ? histogramSamples(name, labels, durations) : []
      }),
    )
  }

  counts(): { route: string; status: number; count: number }[] {
    return [...this.#routes].flatMap(([route, { byStatus }]) =>
      [...byStatus].map(([status, count]) => ({ route: routeLabel(route), status, count })),
    )
  }

  #countsOf(route: string | undefined): RouteCounts {
    const counts = this.#routes.get(route)
    if (counts) return counts
    const added = newRouteCounts()
    this.#routes.set(route, added)
    return added
  }
}

/** Returns the pattern of a route as in the OpenAPI document, or "none" if no route matched. */
export function routeLabel(route: string | undefined): string {
  return route === undefined ? 'none' : toOpenApiPath(route)
}

function newRouteCounts(): RouteCounts {
  return { byStatusClass: [], byStatus: new Map() }
}

function durationsOf({ byStatusClass }: RouteCounts, statusClass: number): Durations {
  const durations = byStatusClass[statusClass]
  if (durations) return durations
  const added = { buckets: bucketBoundsMs.map(() => 0), sumMs: 0, count: 0 }
  byStatusClass[statusClass] = added
  return added
}

function histogramSamples(
  name: string,
  labels: Record<string, string>,
  { buckets, sumMs, count }: Durations,
): HistogramSample[] {
  let cumulative = 0
  const bucketSamples = bucketBoundsMs.map((boundMs, index) => {
    cumulative += buckets[index] ?? 0
    return {
      labels: { ...labels, le: boundMs / 1_000 },
      value: cumulative,
      metricName: `${name}_bucket`,
    }
  })
  return [
    ...bucketSamples,
    { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
    { labels, value: sumMs / 1_000, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ]
}
