// What a history is about: the changes that are made, the questions that are asked, and what makes an answer wrong.
import type { ClientBase } from 'pg'
import type { Effect, Model } from './model.ts'
import type { Random } from './random.ts'

/** An answer over HTTP; `status` null: none came. Instants in milliseconds since 1970. */
export type Answer = { api: string; path: string; sentAt: number; endedAt: number; status: number | null; body: string }

export type Subject<Change> = {
  name: string
  /** What keys are before anything is written. */
  initial: string
  /** Changes for one transaction, drawn beforehand: the same seed plans the same history. */
  draw(random: Random, serial: number): Change[]
  describe(change: Change): string
  /** Makes a change inside a transaction, and tells what it comes to when that is committed. */
  apply(client: ClientBase, change: Change): Promise<Effect[]>
  /** Brings the database to where every key has its initial value. */
  clear(client: ClientBase): Promise<void>
  /** Paths to ask, drawn as the history goes. */
  question(random: Random): string
  /** Why an answer with status 200 agrees with no committed state that it may show; null when it does. */
  judge(answer: Answer, model: Model): string | null
  /** The question at the end, and why its answer is not the final state; null when it is. */
  finalQuestion: string
  judgeFinal(answer: Answer, model: Model): string | null
}
