// What a history is about: the changes that are made, the questions that are asked, and what makes an answer wrong.
import type { ClientBase } from 'pg'
import type { Clock } from './clock.ts'
import type { Effect, Model } from './model.ts'
import type { Random } from './random.ts'
import type { PieceName } from './world.ts'

/** A change for a transaction, drawn beforehand: the same seed plans the same history. `apply` tells what it comes to when that is committed. */
export type Change = { words: string; apply(client: ClientBase, clock: Clock): Promise<Effect[]> }

export type Question = { path: string; headers?: Record<string, string> }

/** An answer over HTTP; `status` null: none came, and `body` says why. Instants in milliseconds since 1970. */
export type Answer = {
  api: PieceName
  path: string
  sentAt: number
  endedAt: number
  status: number | null
  headers: Record<string, string>
  body: string
}

/** What an answer is held against. */
export type Scene = {
  model: Model
  clock: Clock
  /** When the database was as the model begins. */
  startedAt: number
  /** Whether a piece was in trouble, or had only just come out of it, at some moment of this answer. */
  inTrouble(piece: PieceName, answer: Answer): boolean
  /** Whether the same process has answered the same question before, this one too being its answer. */
  answeredBefore(answer: Answer): boolean
}

export type Subject = {
  name: string
  askEveryMs: number
  draw(random: Random, serial: number): Change[]
  /** Brings the database to where every key is absent. */
  clear(client: ClientBase): Promise<void>
  /** Drawn as the history goes; null while there is nothing to ask. */
  question(random: Random, clock: Clock): Question | null
  /** What kind of answer it is, to be counted. */
  kind(answer: Answer): string
  /** Why an answer agrees with no committed state that it may show; null when it does. */
  judge(answer: Answer, scene: Scene): string | null
  /** The questions at the end, and why an answer does not show the final state; null when it does. */
  finalQuestions(): Question[]
  judgeFinal(answer: Answer, scene: Scene): string | null
}

/** Why there may be no answer, or a 503, neither because of PostgreSQL nor of the process that was asked; null when there may. */
export function unexcused(answer: Answer, { inTrouble }: Scene): string | null {
  if (inTrouble(answer.api, answer) || inTrouble('postgres', answer)) return null
  return answer.status === null
    ? `no answer (${answer.body}) though PostgreSQL was up`
    : `${answer.status}: ${answer.body.slice(0, 300)}`
}

/** Values and instants for people. */
export const instant = (ms: number) =>
  Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : 'ever'
