// Metrics whose values are read at each scrape, in the form that prom-client registers.
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'

/** A sample of a metric, in the form that prom-client requires. */
export type Sample = { labels: Record<string, string | number>; value: number; metricName?: string }

/** A metric: `read` returns its current samples. */
export type Family = {
  type: 'counter' | 'gauge' | 'histogram'
  name: string
  help: string
  read: () => Sample[] | Promise<Sample[]>
}

/** Returns a registry with these metrics and those of the process. */
export function createRegistry(families: Family[]): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, help, type, read } of families) {
    // The registry uses only these members of a metric.
    const metric = {
      name,
      help,
      type,
      get: async () => ({ name, help, type, values: await read(), aggregator: 'sum' }),
    }
    registry.registerMetric(metric as unknown as Metric)
  }
  return registry
}

export function samplesBy(label: string, counts: Iterable<[string, number]>): Sample[] {
  return [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** Returns no sample if the value is unknown. */
export function singleSample(value: number | null | undefined): Sample[] {
  return value == null ? [] : [{ labels: {}, value }]
}

/**
 * Returns a function that shares one call between several metrics, and returns null if it fails.
 */
export function shareConcurrentCalls<Result>(
  call: () => Promise<Result>,
): () => Promise<Result | null> {
  let pending: Promise<Result | null> | null = null
  return () => {
    pending ??= call()
      // A scrape without these metrics shows that they are unknown.
      .catch(() => null)
      .finally(() => {
        pending = null
      })
    return pending
  }
}
