// Quantiles of measured values.

/** Returns the value below which `share` of the values lie, or NaN if there are none. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Returns the median, or NaN if there are no values. */
export function median(values: number[]): number {
  return quantile(values, 0.5)
}
