// How often each route answered with which status, and how long that took. Counted here in plain numbers: it happens on every request, and
// prom-client's own histogram costs more than a cached answer.

const boundsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000]

type Series = { buckets: number[]; sumMs: number; count: number }
type Route = { byClass: (Series | undefined)[]; byStatus: Map<number, number> }
export type Sample = { labels: Record<string, string | number>; value: number; metricName?: string }

export type Latencies = {
  answered(route: string | undefined, status: number, ms: number): void
  /** The samples of a histogram of this name, in seconds, by route and status class. */
  histogram(name: string): Sample[]
  /** How often each route answered with each status. */
  counts(): { route: string; status: number; count: number }[]
}

/** Counts from now on. `knownRoutes` are shown from the start; there are as many more as the app has, and "none" for what no route answers. */
export function latencies(knownRoutes: readonly string[]): Latencies {
  const routes = new Map<string | undefined, Route>(
    knownRoutes.map((route) => [route, { byClass: [], byStatus: new Map() }]),
  )

  return {
    answered(route, status, ms) {
      let known = routes.get(route)
      if (!known) {
        known = { byClass: [], byStatus: new Map() }
        routes.set(route, known)
      }
      known.byStatus.set(status, (known.byStatus.get(status) ?? 0) + 1)
      const statusClass = Math.floor(status / 100)
      let series = known.byClass[statusClass]
      if (!series) {
        series = { buckets: boundsMs.map(() => 0), sumMs: 0, count: 0 }
        known.byClass[statusClass] = series
      }
      series.count += 1
      series.sumMs += ms
      const bucket = boundsMs.findIndex((bound) => ms <= bound)
      if (bucket !== -1) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
    },
    histogram: (name) =>
      [...routes].flatMap(([route, { byClass }]) =>
        byClass.flatMap((series, statusClass) =>
          series
            ? samplesOf(
                name,
                { route: shownRoute(route), status_class: `${statusClass}xx` },
                series,
              )
            : [],
        ),
      ),
    counts: () =>
      [...routes].flatMap(([route, { byStatus }]) =>
        [...byStatus].map(([status, count]) => ({ route: shownRoute(route), status, count })),
      ),
  }
}

/** As in the document: a route's pattern, never what was asked for. */
export const shownRoute = (route: string | undefined) => route?.replace(/:(\w+)/g, '{$1}') ?? 'none'

function samplesOf(
  name: string,
  labels: Record<string, string>,
  { buckets, sumMs, count }: Series,
): Sample[] {
  let below = 0
  const cumulative = boundsMs.map((bound, index) => {
    below += buckets[index] ?? 0
    return { labels: { ...labels, le: bound / 1_000 }, value: below, metricName: `${name}_bucket` }
  })
  return [
    ...cumulative,
    { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
    { labels, value: sumMs / 1_000, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ]
}
