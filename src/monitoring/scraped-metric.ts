// Metrics of prom-client whose values are read at each scrape.
import { Counter, Gauge, type Registry } from 'prom-client'

/** A value, or one for each value of the label. Null is unknown, and shows nothing. */
type Values = number | null | Iterable<[labelValue: string, value: number | null]>

type ScrapedMetric = {
  type?: 'counter' | 'gauge'
  name: string
  help: string
  label?: string
  /** If it fails, the metric shows nothing. */
  read: () => Values | Promise<Values>
}

/** Adds a metric whose values are those that `read` returns at a scrape. The default is a gauge. */
export function addScrapedMetric(
  registry: Registry,
  { type = 'gauge', name, help, label, read }: ScrapedMetric,
): void {
  const MetricOfType = type === 'counter' ? Counter : Gauge
  new MetricOfType({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    async collect(this: Counter | Gauge) {
      const values = await Promise.try(read).catch(() => null)
      this.reset()
      // Without a label, reset() sets zero. An unknown value must not be shown as zero.
      if (label === undefined) this.remove()
      const samples =
        typeof values === 'number' || values === null ? [['', values] as const] : values
      for (const [labelValue, value] of samples)
        if (value !== null) this.inc(label === undefined ? {} : { [label]: labelValue }, value)
    },
  })
}

/** Returns a function that shares one call between several metrics. */
export function shareConcurrentCalls<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let pending: Promise<Result> | null = null
  return () => {
    pending ??= call().finally(() => {
      pending = null
    })
    return pending
  }
}
