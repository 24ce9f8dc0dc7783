// Counts requests by API key and by shortened network of the caller.
import { isRefusal } from '../http/problem-details.ts'
import type { Sample } from './scraped-metric.ts'

type Outcome = 'answered' | 'refused' | 'failed'

/** All further keys and networks are counted as "other", so that the metrics stay small. */
const maxKeys = 500
const maxNetworks = 200
const otherCallers = 'other'

export class CallerMetrics {
  readonly #keys = new Map<string, Record<Outcome, number>>()
  readonly #networks = new Map<string, Record<Outcome, number>>()

  /** `keyId` is null for a caller without a known key. */
  countCaller(keyId: string | null, network: string, status: number): void {
    const outcome = getOutcome(status)
    if (keyId !== null) countsOf(this.#keys, keyId, maxKeys)[outcome] += 1
    countsOf(this.#networks, network, maxNetworks)[outcome] += 1
  }

  keySamples(): Sample[] {
    return listSamples('key', this.#keys)
  }

  networkSamples(): Sample[] {
    return listSamples('network', this.#networks)
  }
}

/** Every status counts as answered, except refusals and 5xx. */
function getOutcome(status: number): Outcome {
  if (status >= 500) return 'failed'
  return isRefusal(status) ? 'refused' : 'answered'
}

function countsOf(
  callers: Map<string, Record<Outcome, number>>,
  name: string,
  max: number,
): Record<Outcome, number> {
  const known = callers.get(name)
  if (known) return known
  if (callers.size >= max && name !== otherCallers) return countsOf(callers, otherCallers, max)
  const counts = { answered: 0, refused: 0, failed: 0 }
  callers.set(name, counts)
  return counts
}

function listSamples(label: string, callers: Map<string, Record<Outcome, number>>): Sample[] {
  return [...callers].flatMap(([name, counts]) =>
    Object.entries(counts)
      .filter(([, value]) => value > 0)
      .map(([outcome, value]) => ({ labels: { [label]: name, outcome }, value })),
  )
}
