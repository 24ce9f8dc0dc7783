// Records when each process was faulty, so that a failed response during a fault is excused.
import { setTimeout as sleep } from 'node:timers/promises'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { deriveSearchKey } from '../../src/indexing/keys.ts'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { indexName, masterKey } from '../support/service/installation.ts'
import type { Cluster, EngineName, ProcessName } from './cluster.ts'

/** What can be faulty. `restored data`: an engine may hold older data than PostgreSQL says. */
export type Faulty = ProcessName | 'restored data'

/** A process must serve again this long after a fault has ended (for the engine: by contract). */
const recoveryMs = 5_000

/** Slower searches count as a fault of the engine: the API's own timeout is near. */
const slowSearchMs = 150
const searchTimeoutMs = 300
const probeIntervalMs = 50

export type FaultWindows = {
  /** Starts a fault. Returns the function to call when its cause has ended. */
  begin(process: Faulty): () => void
  /** Records a fault between two instants (milliseconds since 1970). */
  add(process: Faulty, from: number, to: number): void
  /** Whether there was a fault, recovery included, at some moment between two instants. */
  overlaps(process: Faulty, from: number, to: number): boolean
}

export function faultWindows(): FaultWindows {
  const windows: { process: Faulty; from: number; to: number }[] = []
  return {
    begin(process) {
      const window = { process, from: Date.now(), to: Number.POSITIVE_INFINITY }
      windows.push(window)
      return () => {
        window.to = Date.now() + recoveryMs
      }
    },
    add: (process, from, to) => void windows.push({ process, from, to }),
    overlaps: (process, from, to) =>
      windows.some(
        (window) => window.process === process && window.from <= to && window.to >= from,
      ),
  }
}

/**
 * Searches an engine directly until `isOver`, and records a fault while it is slow or fails for
 * whatever reason, a stalled machine included.
 */
export async function watchEngine(
  { engines }: Cluster,
  name: EngineName,
  faults: FaultWindows,
  isOver: () => boolean,
): Promise<void> {
  const client = openIndexingClient(engines[name].url, deriveSearchKey(masterKey))
  const index = client.index(nameWithVersion(indexName))
  for (let lastProbeAt = Date.now(); !isOver(); ) {
    const from = lastProbeAt
    const signal = AbortSignal.timeout(searchTimeoutMs)
    const hasSucceeded = await index.search('', { limit: 1 }, { signal }).then(
      () => true,
      () => false,
    )
    if (!hasSucceeded || Date.now() - from > slowSearchMs)
      faults.add(name, from - slowSearchMs, Date.now() + recoveryMs / 2)
    lastProbeAt = Date.now()
    await sleep(probeIntervalMs)
  }
}
