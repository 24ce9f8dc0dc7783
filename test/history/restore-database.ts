// Puts PostgreSQL back to an older copy of its files in the middle of a history, as an operator who
// restores a backup does. What was committed in between is lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { backUpFiles, type ProcessName, restoreFiles } from './cluster.ts'
import { absent } from './committed-states.ts'
import type { FaultWindows } from './fault-windows.ts'
import { untilNoDrift } from './final-state.ts'
import type { TransactionContext } from './run-transactions.ts'
import type { DatabaseRestore } from './scenario.ts'

const freePollMs = 50

/**
 * Copies the files of PostgreSQL, and puts them back later. No transaction runs meanwhile, so that
 * it is certain which commits are lost. Transactions go on when both indexes have been rebuilt:
 * until then a search may find what was lost.
 */
export async function restoreDatabase(
  context: TransactionContext,
  { afterMs, forMs }: DatabaseRestore,
  busy: Set<ProcessName>,
  faults: FaultWindows,
): Promise<void> {
  const { cluster, gate, states, nextOrder, logEvent } = context
  const { databaseFiles, processes } = cluster
  await sleep(afterMs)
  while (busy.has('postgres')) await sleep(freePollMs)
  busy.add('postgres')
  let saved = new Map<string, string>()
  await gate.closeDuring(async () => {
    const end = faults.begin('postgres')
    saved = states.currentValues()
    await processes.postgres.restart(0, () => backUpFiles(databaseFiles))
    end()
    logEvent('PostgreSQL was copied')
  })
  await sleep(forMs)
  await gate.closeDuring(async () => {
    const endOutage = faults.begin('postgres')
    const endRestored = faults.begin('restored data')
    const earliest = Date.now()
    const effects = [...states.currentValues()]
      .map(([key, value]) => ({ key, value, savedValue: saved.get(key) ?? absent }))
      .filter(({ value, savedValue }) => value !== savedValue)
      .map(({ key, savedValue }) => ({ key, value: savedValue, order: nextOrder() }))
    await processes.postgres.restart(0, () => restoreFiles(databaseFiles))
    states.recordCommit(effects, earliest, Date.now() + 1)
    endOutage()
    logEvent(`PostgreSQL was put back: ${effects.length} values are lost`)
    const drift = await untilNoDrift(cluster)
    logEvent(`the indexes match the database${drift.length > 0 ? ' not' : ''}`)
    endRestored()
  })
  busy.delete('postgres')
}
