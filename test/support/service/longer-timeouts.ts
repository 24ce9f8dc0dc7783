// Longer timeouts, for tests that claim what is answered and not how fast.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { lookUpTimeout } from '../../../src/auth/refreshed-cache.ts'
import {
  fallbackConnectionTimeout,
  fallbackResponseTimeout,
  fallbackStatementTimeout,
} from '../../../src/database/postgres-pool.ts'
import { queueTimeout } from '../../../src/overload/concurrency-limit.ts'
import { redisCommandTimeout } from '../../../src/redis/redis-connection.ts'
import { engineConnectTimeout, engineTimeout } from '../../../src/search-engine/client.ts'
import { indexStateMaxAge } from '../../../src/search-engine/index-states.ts'
import { replaceUntilEnd } from '../replace-until-end.ts'
import { fastStart } from '../run-program.ts'

/** A machine that runs many tests may stop a process for seconds. */
const ms = 10_000

/**
 * Until the test ends, a slow machine changes no answer: keys are looked up and requests counted,
 * and the engine answers every search. Services must be built after this call.
 */
export function lengthenTimeouts(t: { teardown(fn: () => unknown): void }): void {
  for (const timeout of [
    lookUpTimeout,
    queueTimeout,
    redisCommandTimeout,
    engineTimeout,
    fallbackConnectionTimeout,
    fallbackStatementTimeout,
    engineConnectTimeout,
    indexStateMaxAge,
  ])
    replaceUntilEnd(t, timeout, { ms })
  // PostgreSQL must be able to report that it has cancelled a statement.
  replaceUntilEnd(t, fallbackResponseTimeout, { ms: ms + 1_000 })
}

const preload = pathToFileURL(join(import.meta.dirname, 'preload-longer-timeouts.ts')).href

/** The same for a program that a test starts: to be added to its environment. */
export const withLongerTimeouts = { NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${preload}` }
