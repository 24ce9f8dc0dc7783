// Checks whether PostgreSQL is reachable, and waits for it at start-up.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { isPostgresUnavailable } from './failover/broken-connections.ts'

// The API notices a started database soon, and two attempts a second are cheap.
const startRetryMs = 500
// An operator sees that the process waits, and the log stays short.
const startLogMs = 5_000

type WaitOptions = {
  timeoutMs: number
  log(problem: string): void
  signal?: AbortSignal
  /** Checks what the start needs. Throws an error that waiting cannot solve. */
  check?: () => Promise<void>
}

/**
 * Resolves when PostgreSQL responds and `check` has passed, or when `signal` is aborted. Logs the
 * problem when it changes, and every five seconds. Throws after `timeoutMs`, and at once for an
 * error that waiting cannot solve. If PostgreSQL fails during `check`, tries again.
 */
export async function waitForPostgres<DB>(
  db: Kysely<DB>,
  { timeoutMs, log, signal, check = async () => undefined }: WaitOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let logged = { problem: '', at: 0 }
  for (;;) {
    const reason = await checkPostgres(db, check).catch((error: unknown) => {
      // The process is stopping, which closes the connections.
      if (signal?.aborted) return null
      throw error
    })
    if (reason === null || signal?.aborted) return
    const problem = `PostgreSQL (DATABASE_URL) is unreachable: ${reason}`
    const now = performance.now()
    if (now >= deadline) throw new Error(`${problem} (waited ${Math.round(timeoutMs / 1_000)} s)`)
    if (problem !== logged.problem || now - logged.at >= startLogMs) {
      log(problem)
      logged = { problem, at: now }
    }
    await sleep(startRetryMs)
  }
}

/** SQLSTATE classes of a wrong password (28) and an unknown database (3D). A retry cannot help. */
const permanentErrors = /^(28|3D)/

/**
 * Returns null if PostgreSQL responds and `check` passes, or why PostgreSQL cannot be used now.
 * Throws an error that waiting cannot solve: a wrong password, the name of an unknown database, or
 * one of `check`.
 */
export async function checkPostgres<DB>(
  db: Kysely<DB>,
  check: () => Promise<void> = async () => undefined,
): Promise<string | null> {
  try {
    await sql`select 1`.execute(db)
    await check()
    return null
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (permanentErrors.test(code) || !isPostgresUnavailable(error)) throw error
    return error instanceof AggregateError
      ? error.errors.map(({ message }: Error) => message).join('; ')
      : (error as Error).message
  }
}
