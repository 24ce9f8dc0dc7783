// Longer timeouts, for tests that claim what is answered and not how fast.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { timeouts } from '../../../src/timeouts.ts'
import { replaceUntilEnd } from '../replace-until-end.ts'
import { fastStart } from './fast-start.ts'

/** A machine that runs many tests may stop a process for seconds. */
const ms = 10_000

/**
 * Until the test ends, a slow machine changes no answer: keys are looked up and requests counted,
 * and the engine answers every search. Services must be built after this call.
 */
export function lengthenTimeouts(t: { teardown(fn: () => unknown): void }): void {
  const { auth, overload, redis, search, searchEngine } = timeouts
  for (const timeout of [
    auth.lookUp,
    overload.queue,
    redis.command,
    search.engine,
    search.relaxation,
    search.fallbackConnection,
    search.fallbackStatement,
    searchEngine.connect,
    searchEngine.indexStateMaxAge,
  ])
    replaceUntilEnd(t, timeout, { ms })
  // PostgreSQL must be able to report that it has cancelled a statement.
  replaceUntilEnd(t, search.fallbackResponse, { ms: ms + 1_000 })
}

const preload = pathToFileURL(join(import.meta.dirname, 'preload-longer-timeouts.ts')).href

/** The same for a program that a test starts: to be added to its environment. */
export const withLongerTimeouts = { NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${preload}` }
