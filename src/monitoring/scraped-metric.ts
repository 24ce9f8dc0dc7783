// Metrics of prom-client whose values are read at each scrape.
import { Counter, Gauge, type Registry } from 'prom-client'

export type Sample = { labels: Record<string, string | number>; value: number }

type ScrapedMetric = {
  type: 'counter' | 'gauge'
  name: string
  help: string
  labelNames?: string[]
  /** Returns the current samples. An unknown value has no sample. */
  read: () => Sample[] | Promise<Sample[]>
}

/** Adds a metric whose samples are those that `read` returns at a scrape. */
export function addScrapedMetric(
  registry: Registry,
  { type, name, help, labelNames = [], read }: ScrapedMetric,
): void {
  const MetricOfType = type === 'counter' ? Counter : Gauge
  new MetricOfType({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect(this: Counter | Gauge) {
      const samples = await read()
      this.reset()
      // Without labels, reset() sets zero. An unknown value must not be shown as zero.
      if (labelNames.length === 0) this.remove()
      for (const { labels, value } of samples) this.inc(labels, value)
    },
  })
}

export function samplesBy(label: string, counts: Iterable<[string, number]>): Sample[] {
  return [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }))
}

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
