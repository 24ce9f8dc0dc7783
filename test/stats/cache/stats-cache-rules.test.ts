// What the cache of /api/stats in a process sends, and when it computes. No test needs a server.
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { TaskLog } from '../../../src/monitoring/log/failure-log.ts'
import type { ComputedStats } from '../../../src/stats/cache/shared-stats-cache.ts'
import {
  firstComputationMs,
  maxAgeMs,
  refreshAgeMs,
  refreshWaitDuringOutageMs,
  refreshWaitMs,
  StatsCache,
  type StatsCacheOptions,
} from '../../../src/stats/cache/stats-cache.ts'
import { ResponseBodies } from '../../../src/stats/response-body.ts'
import type { ObservedVersion } from '../../../src/stats/summary/summary-follower.ts'
import type { SummaryVersion } from '../../../src/stats/summary/summary-state.ts'

const noLog = { error: () => undefined, info: () => undefined }
const request = { date: 'issued' } as const

t.test('the age of the statistics decides whether a request waits for a refresh', async (t) => {
  const { cache, state } = cacheWithoutServers()
  const read = async () => {
    const { cacheResult, ageMs } = await cache.read(request)
    return { cacheResult, ageMs }
  }
  t.same(await read(), { cacheResult: 'miss', ageMs: 0 })
  for (const { afterMs, ageMs, computations } of [
    { afterMs: refreshAgeMs - 1, ageMs: refreshAgeMs - 1, computations: 1 },
    { afterMs: 1, ageMs: refreshAgeMs, computations: 2 },
    { afterMs: maxAgeMs - 1, ageMs: maxAgeMs - 1, computations: 3 },
  ]) {
    state.moment += afterMs
    state.change()
    t.same(await read(), { cacheResult: 'hit', ageMs })
    await finishRefreshes()
    t.equal(state.computations, computations, `computations after ${ageMs} ms`)
  }
  state.moment += maxAgeMs
  state.change()
  t.same(await read(), { cacheResult: 'miss', ageMs: 0 })
  state.isUp = false
  state.moment += maxAgeMs - 1
  t.same(await read(), { cacheResult: 'hit', ageMs: maxAgeMs - 1 })
  state.moment += 1
  t.same(await read(), { cacheResult: 'stale', ageMs: maxAgeMs })
})

t.test(
  'a defect while the version is read is logged, even if no request waits for it',
  async (t) => {
    const errors: string[] = []
    const log = { error: (line: string) => errors.push(line), info: () => undefined }
    const { cache, state } = cacheWithoutServers(log)
    await cache.read(request)
    state.readingVersion = Promise.reject(new TypeError('a defect'))
    state.moment += refreshAgeMs
    t.match(await cache.read(request), { cacheResult: 'hit' })
    await finishRefreshes()
    t.match(errors, [/a defect/])
  },
)

t.test(
  'while a fold is slow, its age makes statistics stale, and nothing is computed',
  async (t) => {
    const { cache, state } = cacheWithoutServers()
    await cache.read(request)
    state.moment += maxAgeMs
    t.match(await cache.read(request), {
      cacheResult: 'stale',
      ageMs: maxAgeMs,
    })
    t.equal(state.computations, 1)
  },
)

t.test('a refresh computes nothing if the data has not changed', async (t) => {
  const { cache, state } = cacheWithoutServers()
  const read = async () => {
    state.moment += maxAgeMs
    state.versionReadAt = state.moment
    const { cacheResult, ageMs } = await cache.read(request)
    return { cacheResult, ageMs }
  }
  t.same(await read(), { cacheResult: 'miss', ageMs: 0 })
  t.same(await read(), { cacheResult: 'hit', ageMs: 0 })
  state.computed = { ...state.computed, version: { generation: '1', number: 1 } }
  t.match(await read(), { cacheResult: 'miss' }, 'a change')
})

t.test(
  'statistics are stale if their refresh fails or is slow, also those from Redis',
  async (t) => {
    const { cache, state } = cacheWithoutServers()
    const read = async () => {
      state.moment += maxAgeMs
      return (await cache.read(request)).cacheResult
    }
    t.equal(await read(), 'miss')
    state.isUp = false
    t.equal(await read(), 'stale')
    state.redisStats = { ...state.computed, version: { generation: '1', number: 1 } }
    t.equal(await read(), 'stale', 'from Redis')
    state.isUp = true
    const { promise: isComputed, resolve: finish } = Promise.withResolvers<void>()
    state.computing = isComputed
    state.redisStats = null
    state.computed = { ...state.computed, version: { generation: '1', number: 2 } }
    t.equal(await read(), 'stale')
    state.isFailing = true
    t.equal(await read(), 'stale')
    finish()
  },
)

t.test(
  'during an outage, the newer statistics, of Redis or of this process, are sent',
  async (t) => {
    const { cache, state } = cacheWithoutServers()
    const statsAfter = (changes: number): ComputedStats => ({
      ...computedStats(`after ${changes} changes`, 0),
      version: { generation: '1', number: changes },
    })
    const read = async () => {
      const { bodies, cacheResult } = await cache.read(request)
      return { etag: bodies.etagOf('json'), cacheResult }
    }
    const etagAfter = (changes: number) =>
      new ResponseBodies(statsAfter(changes).stats).etagOf('json')
    state.computed = statsAfter(2)
    t.same(await read(), { etag: etagAfter(2), cacheResult: 'miss' })
    state.isUp = false
    for (const [changes, expected] of [
      [1, 2],
      [3, 3],
    ] as const) {
      state.redisStats = statsAfter(changes)
      state.moment += maxAgeMs
      t.same(await read(), { etag: etagAfter(expected), cacheResult: 'stale' })
    }
  },
)

t.test(
  'while PostgreSQL hangs, the newer statistics, of Redis or of this process, are sent',
  async (t) => {
    t.teardown(() => mock.timers.reset())
    for (const { local, hanging, isFailing, waitMs, expected } of [
      { local: null, hanging: 'computing', waitMs: refreshWaitMs, expected: 'redis' },
      { local: null, hanging: 'readingVersion', waitMs: refreshWaitMs, expected: 'redis' },
      {
        local: null,
        hanging: 'readingVersion',
        isFailing: true,
        waitMs: refreshWaitDuringOutageMs,
        expected: 'redis',
      },
      { local: 1, hanging: 'computing', waitMs: refreshWaitMs, expected: 'redis' },
      { local: 1, hanging: 'readingVersion', waitMs: refreshWaitMs, expected: 'redis' },
      { local: 3, hanging: 'computing', waitMs: refreshWaitMs, expected: 'local' },
      {
        local: 1,
        hanging: 'computing',
        isFailing: true,
        waitMs: refreshWaitDuringOutageMs,
        expected: 'redis',
      },
    ] as const) {
      const { cache, state } = cacheWithoutServers()
      const statsAfter = (text: string, number: number): ComputedStats => ({
        ...computedStats(text, 0),
        version: { generation: '1', number },
      })
      if (local !== null) {
        state.computed = statsAfter('local', local)
        await cache.read(request)
      }
      state.moment += maxAgeMs
      state.computed = statsAfter('not computed', 4)
      state.redisStats = statsAfter('redis', 2)
      state[hanging] = new Promise(() => undefined)
      state.isFailing = isFailing === true
      mock.timers.enable({ apis: ['setTimeout'] })
      const responses = Promise.all([cache.read(request), cache.read(request)])
      await finishRefreshes()
      mock.timers.tick(waitMs)
      for (const { bodies, ...response } of await responses) {
        t.match(response, { cacheResult: 'stale', ageMs: maxAgeMs })
        t.match(bodies.get('json', 'identity', '').toString(), `"text":"${expected}"`)
      }
      mock.timers.reset()
    }
  },
)

t.test('a request hardly waits for a refresh that has been too slow before', async (t) => {
  t.teardown(() => mock.timers.reset())
  const { cache, state } = cacheWithoutServers()
  await cache.read(request)
  state.moment += maxAgeMs
  state.change()
  const { promise: isComputed, resolve: finish } = Promise.withResolvers<void>()
  state.computing = isComputed
  mock.timers.enable({ apis: ['setTimeout'] })
  const readAfter = async (waitMs: number) => {
    const response = cache.read(request)
    await finishRefreshes()
    mock.timers.tick(waitMs)
    return Promise.race([response, nextTurn('still waits')])
  }
  const slow = { cacheResult: 'stale' }
  t.equal(await readAfter(refreshWaitMs - 1), 'still waits')
  mock.timers.tick(1)
  await finishRefreshes()
  t.match(await readAfter(refreshWaitDuringOutageMs), slow)
  finish()
  await finishRefreshes()
  state.moment += maxAgeMs
  state.change()
  state.computing = new Promise(() => undefined)
  t.equal(await readAfter(refreshWaitDuringOutageMs), 'still waits', 'for the next refresh')
})

t.test('while PostgreSQL hangs, a request waits for the first statistics', async (t) => {
  t.teardown(() => mock.timers.reset())
  for (const isFailing of [false, true]) {
    const { cache, state } = cacheWithoutServers()
    state.computing = new Promise(() => undefined)
    state.isFailing = isFailing
    mock.timers.enable({ apis: ['setTimeout'] })
    let isSettled = false
    const response = cache.read(request).finally(() => {
      isSettled = true
    })
    response.catch(() => undefined)
    await finishRefreshes()
    mock.timers.tick(firstComputationMs - 1)
    await finishRefreshes()
    t.equal(isSettled, false, 'it may still be computed')
    mock.timers.tick(1)
    await t.rejects(response, { name: 'TimeoutError' })
    mock.timers.reset()
  }
})

t.test('after a change of the database, only its statistics in Redis are sent', async (t) => {
  const version = { generation: '1', number: 0 }
  const cache = new StatsCache({
    redisCache: {
      read: async (generation) => ({
        ...computedStats(generation),
        version: { generation, number: 0 },
      }),
      write: () => undefined,
    },
    summary: summaryOf(() => observe(version), {
      readIfOlderThan: async () => observe({ generation: '2', number: 0 }),
    }),
    log: noLog,
    compute: async () => computedStats('computed'),
  })
  const { cacheResult, bodies } = await cache.read(request)
  t.equal(cacheResult, 'hit')
  t.equal(bodies.etagOf('json'), new ResponseBodies(computedStats('2').stats).etagOf('json'))
})

t.test('a defect after a refresh is an error, not a reason for stale statistics', async (t) => {
  const version = { generation: '1', number: 0 }
  let isDefective = false
  const latest = () => {
    if (!isDefective) return observe(version)
    isDefective = false
    throw new TypeError('a defect')
  }
  const cache = new StatsCache({
    redisCache: { read: async () => computedStats('redis'), write: () => undefined },
    summary: summaryOf(latest, {
      readIfOlderThan: async () => {
        // The refresh does not call `latest` from here on. The request does when it has ended.
        isDefective = true
        return observe(version)
      },
    }),
    log: noLog,
    compute: async () => computedStats('computed'),
  })
  await t.rejects(cache.read(request), { message: 'a defect' })
})

t.test('the bodies of an entry count towards the size of the cache', async (t) => {
  const version = { generation: '1', number: 0 }
  const cache = new StatsCache({
    redisCache: { read: async () => null, write: () => undefined },
    summary: summaryOf(() => observe(version)),
    log: noLog,
    compute: async () => computedStats('x'.repeat(3_000_000)),
  })
  const read = (country: string) => cache.read({ date: 'issued', country })
  const countries = ['ES', 'FR', 'IT', 'PT']
  for (const country of countries) await read(country)
  t.equal((await read('ES')).cacheResult, 'hit', 'four times 3 MB fit into 20 MB')
  for (const country of countries) {
    const { bodies, asOf } = await read(country)
    bodies.get('json', 'identity', asOf)
  }
  t.equal((await read('ES')).cacheResult, 'miss', 'with their bodies, they are 24 MB')
})

t.test('the cache evicts the entry that was used least recently', async (t) => {
  const request = (to: string) => ({ date: 'issued' as const, to })
  const version = { generation: '1', number: 0 }
  // Every entry is current, so that none is refreshed in the background.
  const cacheOfEntries = (characters: number) =>
    new StatsCache({
      redisCache: { read: async () => null, write: () => undefined },
      summary: summaryOf(() => observe(version)),
      log: noLog,
      compute: async () => computedStats('x'.repeat(characters)),
    })
  const resultOf = async (cache: StatsCache, to: string) =>
    (await cache.read(request(to))).cacheResult

  const manyEntries = cacheOfEntries(10)
  t.equal(await resultOf(manyEntries, 'first'), 'miss')
  t.equal(await resultOf(manyEntries, 'first'), 'hit')
  t.equal(await resultOf(manyEntries, 'second'), 'miss')
  for (let number = 0; number < 499; number++) {
    await resultOf(manyEntries, String(number))
    if (number === 200) t.equal(await resultOf(manyEntries, 'second'), 'hit')
  }
  t.equal(await resultOf(manyEntries, 'second'), 'hit', 'one of the 500 used most recently')
  t.equal(await resultOf(manyEntries, 'first'), 'miss', 'more than 500 entries')

  const largeResponses = cacheOfEntries(9_000_000)
  for (const to of ['first', 'second']) t.equal(await resultOf(largeResponses, to), 'miss')
  for (const to of ['first', 'second']) t.equal(await resultOf(largeResponses, to), 'hit')
  t.equal(await resultOf(largeResponses, 'third'), 'miss')
  t.equal(await resultOf(largeResponses, 'first'), 'miss', 'more than 20,000,000 characters')
})

/**
 * A cache without servers, and what it sees. While `isUp` is false, computing fails. While
 * `isFailing` is true, PostgreSQL is known not to respond. `computed` is what it computes once
 * `computing` has resolved, and `redisStats` is what Redis has. A refresh reads the data version at
 * `versionReadAt`.
 */
function cacheWithoutServers(log: TaskLog = noLog) {
  const state = {
    moment: 0,
    isUp: true,
    isFailing: false,
    computing: Promise.resolve(),
    readingVersion: Promise.resolve(),
    computations: 0,
    versionReadAt: 0,
    computed: computedStats('statistics', 0),
    redisStats: null as ComputedStats | null,
    /** A change is folded. */
    change() {
      const { generation, number } = state.computed.version
      state.computed = { ...state.computed, version: { generation, number: number + 1 } }
    },
  }
  /** Was read before anything was cached, so it renews nothing. */
  const latest = () => observe(state.computed.version, 0)
  const cache = new StatsCache({
    redisCache: { read: async () => state.redisStats, write: () => undefined },
    summary: summaryOf(latest, {
      readIfOlderThan: async () => {
        await state.readingVersion
        return state.isUp ? observe(state.computed.version, state.versionReadAt) : null
      },
      isFailing: () => state.isFailing,
    }),
    compute: async () => {
      if (!state.isUp) throw new Error('PostgreSQL is unreachable')
      state.computations += 1
      const knownCurrentAt = state.moment
      await state.computing
      return { ...state.computed, knownCurrentAt }
    },
    log,
    now: () => state.moment,
  })
  return { cache, state }
}

/** Versions as they are while PostgreSQL responds, except for `others`. */
function summaryOf(
  latest: () => ObservedVersion,
  others: Partial<StatsCacheOptions['summary']> = {},
): StatsCacheOptions['summary'] {
  return {
    latest,
    readIfOlderThan: async () => latest(),
    readInBackground: () => undefined,
    isFailing: () => false,
    ...others,
  }
}

/** A version that was read at this moment. */
function observe(version: SummaryVersion, readAt = performance.now()): ObservedVersion {
  return { version, readAt, currentAt: readAt }
}

/** Waits until refreshes in the background have come to their end, or to `computing`. */
function finishRefreshes(): Promise<void> {
  return nextTurn()
}

/** Statistics that have only this text, known to be current at this moment. */
function computedStats(text: string, knownCurrentAt = performance.now()): ComputedStats {
  return {
    stats: { text } as unknown as ComputedStats['stats'],
    version: { generation: '1', number: 0 },
    knownCurrentAt,
  }
}
