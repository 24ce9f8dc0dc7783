// Draws the scenario of a history from its seed: the transactions of each client, and the faults.
import type { ProcessName } from './cluster.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import type { Change, Workload } from './workloads/workload.ts'

export type Transaction = {
  serial: number
  /** Pause before it begins. */
  waitMs: number
  changes: Change[]
  /** How long it stays open after its last statement. */
  holdMs: number
  end: 'commit' | 'rollback'
}

export type Fault = {
  /** From the start of the history. */
  afterMs: number
  process: ProcessName
  /**
   * `kill`: SIGKILL, restarted after `forMs`. `wipe`: the same, with the data deleted. `restart`:
   * SIGTERM, restarted after `forMs`. `pause`: SIGSTOP, then SIGCONT after `forMs`. `restore`: its
   * data is copied, and put back after `forMs`.
   */
  kind: 'kill' | 'restart' | 'pause' | 'wipe' | 'restore'
  forMs: number
}

export type Scenario = {
  /** The transactions of each concurrent client. */
  clients: Transaction[][]
  faults: Fault[]
  databaseRestore: DatabaseRestore | null
}

/** PostgreSQL is stopped and copied, and put back to that copy `forMs` later. */
export type DatabaseRestore = Pick<Fault, 'afterMs' | 'forMs'>

const clientCount = 4
const stepsPerFault = 20
/** Putting a database back takes several seconds, in which nothing is written. */
const databaseRestoreShare = 0.1

/**
 * `steps` counts transactions and faults together. One history in ten restores the database, and
 * each one if `restoresDatabase` is set.
 */
export function drawScenario(
  workloads: [Workload, ...Workload[]],
  seed: number,
  steps: number,
  restoresDatabase = false,
): Scenario {
  const random = seededRandom(seed)
  const faultCount = Math.max(1, Math.round(steps / stepsPerFault))
  const clients: Transaction[][] = Array.from({ length: clientCount }, () => [])
  for (let serial = 1; serial <= steps - faultCount; serial++)
    clients[serial % clientCount]?.push(drawTransaction(workloads, random, serial))
  const durationMs = Math.max(
    ...clients.map((transactions) =>
      transactions.reduce((sum, { waitMs, holdMs }) => sum + waitMs + holdMs, 0),
    ),
  )
  const faults = Array.from({ length: faultCount }, () => drawFault(random, durationMs))
  const hasRestore = random.chance(databaseRestoreShare) || restoresDatabase
  const afterMs = random.between(0, Math.floor(durationMs / 2))
  return {
    clients,
    faults: faults.sort((a, b) => a.afterMs - b.afterMs),
    databaseRestore: hasRestore ? { afterMs, forMs: random.between(500, 3_000) } : null,
  }
}

function drawTransaction(
  workloads: [Workload, ...Workload[]],
  random: Random,
  serial: number,
): Transaction {
  const isLong = random.chance(0.04)
  return {
    serial,
    waitMs: random.chance(0.3) ? 0 : random.between(5, 250),
    // One transaction in ten changes data of two workloads.
    changes: Array.from({ length: random.chance(0.1) ? 2 : 1 }, () =>
      random.pick(workloads).drawChanges(random, serial),
    ).flat(),
    holdMs: isLong ? random.between(1_000, 4_000) : random.chance(0.3) ? random.between(1, 80) : 0,
    end: random.chance(0.1) ? 'rollback' : 'commit',
  }
}

function drawFault(random: Random, durationMs: number): Fault {
  const process = random.pick<ProcessName>([
    'indexer-1',
    'indexer-2',
    'indexer-1',
    'indexer-2',
    'indexer-3',
    'engine-1',
    'engine-1',
    'engine-2',
    'engine-2',
    'postgres',
    'postgres',
    'redis',
    'redis',
    'api-1',
    'api-2',
  ])
  const kind = random.pick<Fault['kind']>(
    process.startsWith('engine')
      ? ['kill', 'restart', 'pause', 'pause', 'wipe', 'restore', 'restore']
      : ['kill', 'restart', 'pause'],
  )
  // Long enough that another indexer takes over the lease of a paused one.
  const longestMs = kind === 'pause' && process.startsWith('indexer') ? 9_000 : 2_500
  return {
    afterMs: random.between(200, Math.max(500, durationMs - 500)),
    process,
    kind,
    forMs: random.between(100, longestMs),
  }
}
