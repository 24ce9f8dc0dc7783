// The metrics of this process: counters that features increment, and values that they set.
import type { ReplicaObserver, ReplicaReadOutcome } from '../database/replica/replica.ts'
import type { ReplicaStatus } from '../database/replica/replica-state.ts'
import { endpointPaths } from '../http/endpoint-paths.ts'
import { CallerMetrics } from './caller-metrics.ts'
import { RequestMetrics, routeLabel } from './request-metrics.ts'

type SearchSource = 'cache' | 'index' | 'database' | 'cancelled' | 'unavailable'
type EngineOutcome = 'answered' | 'rejected' | 'timeout' | 'outage' | 'cancelled'

export type Metrics = {
  requests: RequestMetrics
  callers: CallerMetrics
  search: {
    countResponse(source: SearchSource): void
    countIncomplete(): void
    countEngineRequest(engineName: string, outcome: EngineOutcome): void
    setEngineAvailable(engineName: string, isAvailable: boolean): void
  }
  stats: {
    countResponse(outcome: string): void
    countFoldFailure(): void
    countDriftCheck(): void
    countDriftCheckFailure(): void
  }
  quotes: { countAlteredDocument(): void; countFailedPdf(): void }
  redis: { countRejection(code: string): void; countTimeout(): void }
  replica: ReplicaObserver
  shedding: { countRejection(route: string | undefined): void }
  /** The current values. */
  values: {
    searchResponses: Map<string, number>
    statsResponses: Map<string, number>
    foldFailures: number
    driftChecks: number
    driftCheckFailures: number
    alteredDocuments: number
    failedPdfs: number
    /** Commands that Redis rejected, by the code of its reply, and those that timed out. */
    redisFailures: Map<string, number>
    /** Null if there is no replica. */
    replica: { status: ReplicaStatus; lagSeconds: number } | null
    /** Reads meant for the replica: by what is read, and by the outcome. */
    replicaReads: Map<string, Map<string, number>>
    rejections: Map<string, number>
    incompleteSearches: number
    /** The searches that were sent to each engine, by outcome. */
    engineRequests: Map<string, Map<string, number>>
    /** Whether the circuit breaker of each engine is closed. */
    engineAvailability: Map<string, boolean>
  }
}

const searchSources: SearchSource[] = ['cache', 'index', 'database', 'cancelled', 'unavailable']
const engineOutcomes: EngineOutcome[] = ['answered', 'rejected', 'timeout', 'outage', 'cancelled']
const replicaOutcomes: ReplicaReadOutcome[] = ['used', 'behind', 'failed']
const statsOutcomes = ['hit', 'shared', 'miss', 'collapsed', 'stale']

/** Returns counters that start at zero. */
export function createMetrics(): Metrics {
  const values = {
    searchResponses: zeroCounts(searchSources),
    statsResponses: zeroCounts(statsOutcomes),
    foldFailures: 0,
    driftChecks: 0,
    driftCheckFailures: 0,
    alteredDocuments: 0,
    failedPdfs: 0,
    redisFailures: zeroCounts(['timeout']),
    replica: null as Metrics['values']['replica'],
    replicaReads: new Map(
      ['statistics', 'document'].map((read) => [read, zeroCounts(replicaOutcomes)]),
    ),
    rejections: zeroCounts(endpointPaths.map(routeLabel)),
    incompleteSearches: 0,
    engineRequests: new Map<string, Map<string, number>>(),
    engineAvailability: new Map<string, boolean>(),
  }
  return {
    requests: new RequestMetrics(endpointPaths),
    callers: new CallerMetrics(),
    search: {
      countResponse: (source) => increment(values.searchResponses, source),
      countIncomplete() {
        values.incompleteSearches += 1
      },
      countEngineRequest(engineName, outcome) {
        const counts = values.engineRequests.get(engineName)
        if (counts) increment(counts, outcome)
      },
      setEngineAvailable(engineName, isAvailable) {
        values.engineAvailability.set(engineName, isAvailable)
        if (!values.engineRequests.has(engineName))
          values.engineRequests.set(engineName, zeroCounts(engineOutcomes))
      },
    },
    stats: {
      countResponse: (outcome) => increment(values.statsResponses, outcome),
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
      countFailedPdf() {
        values.failedPdfs += 1
      },
    },
    redis: {
      countRejection: (code) => increment(values.redisFailures, code),
      countTimeout: () => increment(values.redisFailures, 'timeout'),
    },
    replica: {
      setReplicaStatus(status) {
        values.replica = { lagSeconds: 0, ...values.replica, status }
      },
      setReplicaLag(lagSeconds) {
        values.replica = { status: 'unknown', ...values.replica, lagSeconds }
      },
      countReplicaRead(read, outcome) {
        increment(values.replicaReads.get(read) ?? new Map(), outcome)
      },
    },
    shedding: { countRejection: (route) => increment(values.rejections, routeLabel(route)) },
    values,
  }
}

/** Whether the circuit breaker of every engine is open. False if there are no engines. */
export function isEveryBreakerOpen({ engineAvailability }: Metrics['values']): boolean {
  const availability = [...engineAvailability.values()]
  return availability.length > 0 && !availability.includes(true)
}

/** Returns a count of zero for each name. */
export function zeroCounts(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name) => [name, 0]))
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
