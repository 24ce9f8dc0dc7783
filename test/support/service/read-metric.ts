// Reads the current value of a metric by its name in /metrics.
import type { Metrics } from '../../../src/monitoring/process-metrics.ts'

/** Returns 0 if no sample has these labels. Throws if the metric does not exist. */
export async function readMetric(
  { registry }: Metrics,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const metric = await registry.getSingleMetric(name)?.get()
  if (!metric) throw new Error(`There is no metric ${name}`)
  const sample = metric.values.find((candidate) =>
    Object.entries(labels).every(([label, value]) => candidate.labels[label] === value),
  )
  return sample?.value ?? 0
}
