// What the cache of /api/stats in a process sends, by the age of its statistics, what Redis has and
// how PostgreSQL responds. No test needs a server.
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { ComputedStats } from '../../../src/stats/cache/shared-stats-cache.ts'
import {
  firstComputationMs,
  maxAgeMs,
  refreshAgeMs,
  refreshWaitMs,
  StatsCache,
} from '../../../src/stats/cache/stats-cache.ts'
import { silentLog } from '../../support/task-logs.ts'

const request = { date: 'issued' } as const
const never = new Promise<never>(() => undefined)

/** Statistics that have only this text, of a version, known to be current at this moment. */
const statsOf = (text: string, number: number, knownCurrentAt = 0): ComputedStats => ({
  stats: { text } as unknown as ComputedStats['stats'],
  version: { generation: '1', number },
  knownCurrentAt,
})

/**
 * A cache without servers, and what it sees: the version that is folded, what Redis has, and
 * whether PostgreSQL responds, is unreachable or hangs.
 */
function cacheWithoutServers() {
  const state = {
    moment: 0,
    version: 1,
    redis: null as ComputedStats | null,
    postgres: 'up' as 'up' | 'down' | 'hangs',
    computations: 0,
    size: 1,
  }
  const observed = () => ({ version: statsOf('', state.version).version, readAt: 0, currentAt: 0 })
  const cache = new StatsCache({
    redisCache: { read: async () => state.redis, write: () => undefined },
    summary: { latest: observed },
    async compute() {
      if (state.postgres === 'down') throw new Error('PostgreSQL is unreachable')
      if (state.postgres !== 'up') return never
      state.computations += 1
      return statsOf('x'.repeat(state.size), state.version, state.moment)
    },
    log: silentLog,
    now: () => state.moment,
  })
  return { cache, state }
}

t.test('the age of the statistics decides whether a request waits for a refresh', async (t) => {
  const { cache, state } = cacheWithoutServers()
  for (const [afterMs, postgres, expected, computations] of [
    [0, 'up', { cacheResult: 'miss', ageMs: 0 }, 1],
    [refreshAgeMs - 1, 'up', { cacheResult: 'hit', ageMs: refreshAgeMs - 1 }, 1],
    [1, 'up', { cacheResult: 'hit', ageMs: refreshAgeMs }, 2],
    [maxAgeMs - 1, 'up', { cacheResult: 'hit', ageMs: maxAgeMs - 1 }, 3],
    [maxAgeMs, 'up', { cacheResult: 'miss', ageMs: 0 }, 4],
    [maxAgeMs - 1, 'down', { cacheResult: 'hit', ageMs: maxAgeMs - 1 }, 4],
    [1, 'down', { cacheResult: 'stale', ageMs: maxAgeMs }, 4],
  ] as const) {
    state.postgres = postgres
    state.moment += afterMs
    state.version += 1
    t.match(await cache.read(request), expected)
    // A refresh in the background ends.
    await nextTurn()
    t.equal(state.computations, computations)
  }
})

t.test('without a refresh in time, the newer statistics are sent as stale', async (t) => {
  t.teardown(() => mock.timers.reset())
  for (const [local, redis, postgres, waitMs, expected] of [
    // The versions that the process and Redis have, and how long the request waits.
    [2, null, 'down', 0, 'local'],
    [2, 1, 'down', 0, 'local'],
    [2, 3, 'down', 0, 'redis'],
    [null, 2, 'down', 0, 'redis'],
    [null, null, 'down', 0, 'PostgreSQL is unreachable'],
    [3, 2, 'hangs', refreshWaitMs, 'local'],
    [1, 2, 'hangs', refreshWaitMs, 'redis'],
    [null, 2, 'hangs', refreshWaitMs, 'redis'],
    [null, null, 'hangs', firstComputationMs, 'takes too long'],
  ] as const) {
    const { cache, state } = cacheWithoutServers()
    if (local !== null) {
      state.version = local
      await cache.read(request)
    }
    Object.assign(state, { postgres, moment: maxAgeMs, version: 4 })
    state.redis = redis === null ? null : statsOf('redis', redis)
    mock.timers.enable({ apis: ['setTimeout'] })
    let hasEnded = false
    const responses = [1, 2].map(() =>
      cache
        .read(request)
        .then(({ bodies, cacheResult, ageMs }) => {
          t.match({ cacheResult, ageMs }, { cacheResult: 'stale', ageMs: maxAgeMs })
          return bodies.get('json', 'identity', '').toString()
        }, String)
        .finally(() => {
          hasEnded = true
        }),
    )
    await nextTurn()
    if (waitMs > 0) {
      mock.timers.tick(waitMs - 1)
      await nextTurn()
      t.equal(hasEnded, false, 'the refresh may still end')
      mock.timers.tick(1)
    }
    for (const text of await Promise.all(responses))
      t.match(text, expected === 'local' ? '"text":"x"' : expected)
    mock.timers.reset()
  }
})

t.test('a request hardly waits for a refresh that has been too slow before', async (t) => {
  t.teardown(() => mock.timers.reset())
  const { cache, state } = cacheWithoutServers()
  await cache.read(request)
  Object.assign(state, { postgres: 'hangs', moment: maxAgeMs, version: 2 })
  mock.timers.enable({ apis: ['setTimeout'] })
  for (const waitMs of [refreshWaitMs, 1]) {
    const response = cache.read(request)
    await nextTurn()
    mock.timers.tick(waitMs)
    state.moment += waitMs
    t.match(await response, { cacheResult: 'stale' }, `after ${waitMs} ms`)
  }
})

t.test('the cache keeps 500 entries and 20 MB, and evicts the least recently used', async (t) => {
  const { cache, state } = cacheWithoutServers()
  const read = async (to: string) => cache.read({ date: 'issued', to })
  const resultOf = async (to: string) => (await read(to)).cacheResult
  for (const to of ['first', 'second']) await read(to)
  for (let number = 0; number < 499; number++) {
    await read(String(number))
    if (number === 200) t.equal(await resultOf('second'), 'hit')
  }
  t.equal(await resultOf('second'), 'hit', 'one of the 500 used most recently')
  t.equal(await resultOf('first'), 'miss', 'more than 500 entries')

  state.size = 3_000_000
  const large = ['a', 'b', 'c', 'd']
  for (const to of large) await read(to)
  t.equal(await resultOf('d'), 'hit')
  t.equal(await resultOf('a'), 'miss', 'four times 3 MB, and as much for their bodies')
})
