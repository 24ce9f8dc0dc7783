// What a workload is: the changes it makes, the requests it sends and how it checks the responses.
import type { ClientBase } from 'pg'
import type { ProcessName } from '../cluster.ts'
import type { CommittedStates, Effect } from '../committed-states.ts'
import type { Clock } from '../fast-clock.ts'
import type { Faulty } from '../fault-windows.ts'
import type { Random } from '../seeded-random.ts'

/** A change to make in a transaction. It is drawn beforehand: one seed always plans one history. */
export type Change = {
  /** For the event log. */
  description: string
  /** Returns its effects in case the transaction is committed. */
  apply(client: ClientBase, clock: Clock): Promise<Effect[]>
}

export type ApiRequest = { path: string; headers?: Record<string, string> }

/** A response over HTTP. Instants are in milliseconds since 1970. */
export type ApiResponse = {
  api: ProcessName
  path: string
  sentAt: number
  endedAt: number
  /** Null: no response arrived, and `body` holds the reason. */
  status: number | null
  headers: Record<string, string>
  body: string
}

/** What a response is checked against. */
export type CheckContext = {
  states: CommittedStates
  clock: Clock
  /** The instant at which `states` begins. */
  startedAt: number
  /** Whether a process was faulty, or still recovering, at some moment of this response. */
  isFaulty(process: Faulty, response: ApiResponse): boolean
  /** Whether the same process, not restarted since, has answered the same request before. */
  hasAnsweredBefore(response: ApiResponse): boolean
}

export type Workload = {
  requestIntervalMs: number
  drawChanges(random: Random, serial: number): Change[]
  /** Deletes everything, so that every key is absent. */
  clear(client: ClientBase): Promise<void>
  /** Returns null while there is nothing to request. */
  nextRequest(random: Random, clock: Clock): ApiRequest | null
  /** Returns why a response matches no committed state that it may show, or null if it does. */
  checkResponse(response: ApiResponse, context: CheckContext): string | null
  /** Returns what is wrong with all responses taken together, or null. */
  checkTogether?(responses: ApiResponse[], context: CheckContext): string | null
  /** The requests to send at the end. */
  finalRequests(): ApiRequest[]
  /** Returns why a response does not show the final state, or null if it does. */
  checkFinalResponse(response: ApiResponse, context: CheckContext): string | null
}

/** Returns why a failed response is a violation, or null if PostgreSQL or the API was faulty. */
export function unexcusedFailure(response: ApiResponse, { isFaulty }: CheckContext): string | null {
  if (isFaulty(response.api, response) || isFaulty('postgres', response)) return null
  return response.status === null
    ? `no response (${response.body}) although PostgreSQL was up`
    : `${response.status}: ${response.body.slice(0, 300)}`
}

/** An instant as time of day, for messages. */
export const formatInstant = (ms: number) =>
  Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : 'the beginning'
