// Plays one history: transactions, faults and requests at once. Then it checks every response
// against the committed states.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  backUpFiles,
  type Cluster,
  deleteEngineData,
  type EngineName,
  engineNames,
  type ProcessName,
  restoreFiles,
} from './cluster.ts'
import { committedStates } from './committed-states.ts'
import { type FaultWindows, faultWindows, watchEngine } from './fault-windows.ts'
import { finalStateTimeoutMs, untilFinalState, untilNoDrift } from './final-state.ts'
import { restoreDatabase } from './restore-database.ts'
import {
  type LogEvent,
  runTransactions,
  TransactionGate,
  withConnection,
} from './run-transactions.ts'
import { drawScenario, type Fault } from './scenario.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { sendRequest } from './send-request.ts'
import { quoteLinkWorkload } from './workloads/quote-link-workload.ts'
import { searchWorkload } from './workloads/search-workload.ts'
import { statsWorkload } from './workloads/stats-workload.ts'
import type { ApiResponse, CheckContext, Workload } from './workloads/workload.ts'

export type HistoryResult = {
  /** One text for each violation. Empty for a correct history. */
  violations: string[]
  responses: number
  /** What happened, one line each. */
  eventLog: string[]
}

type CheckedResponse = { workload: Workload; response: ApiResponse }

/** Plays the scenario of this seed. Every process is up before and after it. */
export async function playHistory(
  cluster: Cluster,
  seed: number,
  steps: number,
  { restoresDatabase = false }: { restoresDatabase?: boolean } = {},
): Promise<HistoryResult> {
  const workloads: [Workload, ...Workload[]] = [
    searchWorkload(),
    statsWorkload(),
    quoteLinkWorkload(),
  ]
  const scenario = drawScenario(workloads, seed, steps, restoresDatabase)
  const log = startEventLog()
  const states = committedStates()
  const faults = faultWindows()
  const responses: CheckedResponse[] = []

  await clearDatabase(cluster, workloads)
  const context: CheckContext = {
    states,
    clock: cluster.clock,
    startedAt: Date.now() + 1,
    isFaulty: (process, { sentAt, endedAt }) => faults.overlaps(process, sentAt, endedAt),
    hasAnsweredBefore: (response) => hasAnsweredBefore(response, responses, faults),
  }
  await untilFinalState(cluster, workloads, context, log.add)
  await untilNoDrift(cluster)
  // Clearing the tables has deleted both indexes, which counts as a fault of both engines.
  for (const name of engineNames) faults.begin(name)()

  const background = startBackground({ cluster, workloads, seed, faults, responses })
  let violations: string[]
  try {
    await playScenario(cluster, scenario, states, faults, log.add)
    violations = await checkFinalState(cluster, workloads, context, log.add)
  } finally {
    await background.stop()
  }

  return {
    violations: [
      ...violations,
      ...checkResponses(responses, context, log.secondsAt),
      ...workloads.flatMap((workload) => checkTogether(workload, responses, context)),
      ...cluster.unexpectedExits.splice(0),
    ],
    responses: responses.length,
    eventLog: log.lines,
  }
}

type EventLog = {
  lines: string[]
  add: LogEvent
  /** Returns the seconds from the start of the history to an instant. */
  secondsAt(ms: number): string
}

function startEventLog(): EventLog {
  const startedAt = Date.now()
  const secondsAt = (ms: number) => ((ms - startedAt) / 1000).toFixed(3)
  const lines: string[] = []
  const add = (text: string) => void lines.push(`${secondsAt(Date.now()).padStart(8)}  ${text}`)
  return { lines, add, secondsAt }
}

/** Sends the requests of every workload to every API, and watches the engine, until `stop`. */
function startBackground({
  cluster,
  workloads,
  seed,
  faults,
  responses,
}: {
  cluster: Cluster
  workloads: Workload[]
  seed: number
  faults: FaultWindows
  /** The responses are added here. */
  responses: CheckedResponse[]
}): { stop(): Promise<void> } {
  let isOver = false
  const work = [
    ...engineNames.map((name) => watchEngine(cluster, name, faults, () => isOver)),
    ...cluster.apis.flatMap((api, n) =>
      workloads.map((workload, m) =>
        sendRequests(
          { cluster, api, workload, random: seededRandom(seed + 10 * n + m + 1) },
          (response) => responses.push({ workload, response }),
          () => isOver,
        ),
      ),
    ),
  ]
  return {
    async stop() {
      isOver = true
      await Promise.all(work)
    },
  }
}

/** Runs all transactions and faults. */
async function playScenario(
  cluster: Cluster,
  scenario: ReturnType<typeof drawScenario>,
  states: ReturnType<typeof committedStates>,
  faults: FaultWindows,
  logEvent: LogEvent,
): Promise<void> {
  let statements = 0
  const nextOrder = () => ++statements
  const gate = new TransactionGate()
  const context = { cluster, gate, states, nextOrder, logEvent }
  const clients = scenario.clients.map((transactions) => runTransactions(context, transactions))
  const busy = new Set<ProcessName>()
  await Promise.all([
    ...scenario.faults.map((fault) => injectFault(cluster, fault, busy, faults, logEvent)),
    scenario.databaseRestore && restoreDatabase(context, scenario.databaseRestore, busy, faults),
  ])
  logEvent('all faults are over')
  await Promise.all(clients)
  logEvent('all transactions are over')
}

/** Waits until the service shows the final state. Returns a text for each violation. */
async function checkFinalState(
  cluster: Cluster,
  workloads: [Workload, ...Workload[]],
  context: CheckContext,
  logEvent: LogEvent,
): Promise<string[]> {
  const difference = await untilFinalState(cluster, workloads, context, logEvent)
  if (difference === null) return untilNoDrift(cluster)
  const seconds = finalStateTimeoutMs / 1000
  return [`the final state is not shown ${seconds} s after the last fault: ${difference}`]
}

async function clearDatabase(cluster: Cluster, workloads: Workload[]): Promise<void> {
  await withConnection(cluster, async (client) => {
    for (const workload of workloads) await workload.clear(client)
    await client.query('delete from history_commits')
  })
}

/** Sends the requests of one workload to one API, one at a time, until `isOver`. */
async function sendRequests(
  {
    cluster,
    api,
    workload,
    random,
  }: { cluster: Cluster; api: Cluster['apis'][number]; workload: Workload; random: Random },
  onResponse: (response: ApiResponse) => void,
  isOver: () => boolean,
): Promise<void> {
  const bodiesByETag = new Map<string, string>()
  while (!isOver()) {
    const request = workload.nextRequest(random, cluster.clock)
    if (request) onResponse(await sendRequest(api, request, bodiesByETag))
    await sleep(workload.requestIntervalMs)
  }
}

/** Injects a fault, unless its process already has one. */
async function injectFault(
  cluster: Cluster,
  { afterMs, process, kind, forMs }: Fault,
  busy: Set<ProcessName>,
  faults: FaultWindows,
  logEvent: LogEvent,
): Promise<void> {
  await sleep(afterMs)
  if (busy.has(process)) return
  busy.add(process)
  const end = faults.begin(process)
  logEvent(`${kind} ${process} for ${forMs} ms`)
  const target = cluster.processes[process]
  if (kind === 'wipe' || kind === 'restore')
    await changeEngineData(cluster, process as EngineName, kind, forMs, faults)
  else await target[kind](forMs)
  end()
  logEvent(`${process} is back`)
  busy.delete(process)
}

/** Deletes the data of an engine, or copies it and puts it back after `forMs`. */
async function changeEngineData(
  { engines, processes }: Cluster,
  name: EngineName,
  kind: 'wipe' | 'restore',
  forMs: number,
  faults: FaultWindows,
): Promise<void> {
  if (kind === 'wipe') return processes[name].kill(forMs, () => deleteEngineData(engines[name]))
  await processes[name].restart(0, () => backUpFiles(engines[name]))
  await sleep(forMs)
  // Until an indexer has noticed it, the index may be older than PostgreSQL says.
  const end = faults.begin('restored data')
  await processes[name].kill(0, () => restoreFiles(engines[name]))
  end()
}

function hasAnsweredBefore(
  { api, path, sentAt, endedAt }: ApiResponse,
  responses: CheckedResponse[],
  faults: FaultWindows,
): boolean {
  const earlier = responses.findLast(
    ({ response }) =>
      response.api === api &&
      response.path === path &&
      (response.status === 200 || response.status === 304) &&
      response.endedAt <= sentAt,
  )?.response
  return earlier !== undefined && !faults.overlaps(api, earlier.sentAt, endedAt)
}

function checkResponses(
  responses: CheckedResponse[],
  context: CheckContext,
  secondsAt: EventLog['secondsAt'],
): string[] {
  return responses.flatMap(({ workload, response }) => {
    const reason = workload.checkResponse(response, context)
    if (reason === null) return []
    const { api, path, sentAt, endedAt } = response
    return [`${api} ${path} at ${secondsAt(sentAt)} s, took ${endedAt - sentAt} ms: ${reason}`]
  })
}

function checkTogether(
  workload: Workload,
  responses: CheckedResponse[],
  context: CheckContext,
): string[] {
  const ofWorkload = responses.filter((checked) => checked.workload === workload)
  const reason = workload.checkTogether?.(
    ofWorkload.map(({ response }) => response),
    context,
  )
  return reason ? [reason] : []
}
