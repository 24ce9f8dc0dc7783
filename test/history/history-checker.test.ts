// Tests the checker of random histories: which responses it accepts, and which it rejects.
import t from 'tap'
import type { StatsWithoutAsOf } from '../../src/stats/schema.ts'
import { buildQuote, type Quote } from '../stats/quote-builder.ts'
import { expectedStats } from '../stats/reference-stats.ts'
import { committedStates } from './committed-states.ts'
import { fastClock } from './fast-clock.ts'
import { searchWorkload } from './workloads/search-workload.ts'
import { statsWorkload } from './workloads/stats-workload.ts'
import type { CheckContext } from './workloads/workload.ts'

t.test('the oracle knows which values a key can have had', async (t) => {
  const states = committedStates()
  states.recordCommit([{ key: 'a', value: 'one', order: 1 }], 1_000, 1_010)
  states.recordCommit([{ key: 'a', value: 'three', order: 3 }], 2_005, 2_020)
  states.recordCommit([{ key: 'a', value: 'two', order: 2 }], 2_000, 2_010)
  const possible = (from: number, to: number) => [...states.possibleValues('a', from, to)].sort()
  t.same(possible(0, 900), ['absent'])
  t.same(possible(0, 1_005), ['absent', 'one'], 'a commit in progress may be visible or not')
  t.same(possible(1_100, 1_900), ['one'], 'a value overwritten before the window is impossible')
  t.same(possible(1_100, 2_002), ['one', 'two'])
  t.same(possible(3_000, 4_000), ['three'], 'of two overlapping commits the later statement wins')
})

t.test('the oracle knows which states all keys can have had together', async (t) => {
  const oracle = committedStates()
  oracle.recordCommit([{ key: 'a', value: 'one', order: 1 }], 1_000, 1_010)
  oracle.recordCommit([{ key: 'a', value: 'three', order: 3 }], 2_005, 2_020)
  oracle.recordCommit([{ key: 'a', value: 'two', order: 2 }], 2_000, 2_010)
  oracle.recordCommit([{ key: 'b', value: 'x', order: 4 }], 2_500, 2_600)
  oracle.recordCommit([{ key: 'c', value: 'y', order: 5 }], 2_550, 2_650)
  oracle.recordCommit([{ key: 'b', value: 'z', order: 6 }], 2_590, 2_700)
  const states = (from: number, to: number) =>
    [...oracle.possibleStates('', from, to)]
      .map(({ values }) => ['a', 'b', 'c'].map((key) => values.get(key) ?? '-').join(''))
      .sort()
  t.same(states(0, 100), ['---'])
  t.same(
    states(2_550, 2_580),
    ['three--', 'three-y', 'threex-', 'threexy'],
    'two overlapping commits come in either order',
  )
  t.same(
    states(2_605, 2_800),
    ['threex-', 'threexy', 'threez-', 'threezy'],
    'two commits of the same key come in one order',
  )
  t.same(states(2_800, 2_900), ['threezy'])
})

const contextOf = (states: CheckContext['states']): CheckContext => ({
  states,
  clock: fastClock(0),
  startedAt: 0,
  isFaulty: () => false,
  hasAnsweredBefore: () => false,
})
const received = { api: 'api-1', status: 200, headers: {} } as const

t.test('the checker accepts search results no older than indexedAt', async (t) => {
  const states = committedStates()
  const product = (name: string) => `${name} / null / undefined`
  states.recordCommit([{ key: 'HX-101', value: product('old'), order: 7 }], 4_000, 4_010)
  states.recordCommit([{ key: 'HX-101', value: product('new'), order: 8 }], 5_000, 5_010)
  const check = (indexedAt: number, name: string) => {
    const hits = [{ sku: 'HX-101', name, description: null, price: null }]
    const body = JSON.stringify({
      hits,
      meta: { source: 'index', indexedAt: new Date(indexedAt).toISOString() },
    })
    const path = '/api/search?q=HX-101'
    const response = { ...received, sentAt: 6_000, endedAt: 6_001, path, body }
    return searchWorkload().checkResponse(response, contextOf(states))
  }
  t.equal(check(4_500, 'old'), null, 'an old index may show the old name')
  t.equal(check(4_500, 'new'), null)
  t.match(check(5_500, 'old'), /HX-101 is old/, 'a newer index may not')
  t.match(check(5_500, 'other'), /HX-101 is other/)
})

t.test('the checker accepts statistics no older than their age', async (t) => {
  const states = committedStates()
  const context = contextOf(states)
  const row = {
    ...buildQuote('Q-1', {
      status: 'sent',
      issued_on: '1970-01-01',
      valid_until: '1970-01-01',
      decided_on: null,
    }),
    version: 1,
  }
  const effect = { key: 'quote Q-1 v1', value: JSON.stringify(row), order: 9 }
  states.recordCommit([effect], 3_000, 3_010)
  const today = (ms: number) => context.clock.days(ms, ms)[0] ?? ''
  const statsOf = (quotes: Quote[], today: string) =>
    expectedStats(quotes, { today, date: 'issued', country: undefined, bounds: null })
  const check = (
    stats: StatsWithoutAsOf,
    cacheStatus: string,
    age: string,
    sentAt: number,
    asOf = sentAt - (Number(age) + 1) * 1_000,
  ) => {
    const body = JSON.stringify({ asOf: new Date(asOf).toISOString(), ...stats })
    const headers = { 'cache-status': cacheStatus, age }
    const times = { sentAt, endedAt: sentAt + 1 }
    const response = { ...received, ...times, headers, path: '/api/stats', body }
    return statsWorkload().checkResponse(response, context)
  }
  t.equal(check(statsOf([row], today(6_000)), 'stats; hit', '0', 6_000), null)
  t.equal(
    check(statsOf([], today(4_000)), 'stats; hit', '0', 4_000),
    null,
    'the state of a second ago is allowed',
  )
  t.match(
    check(statsOf([], today(6_000)), 'stats; hit', '1', 6_000),
    /match none of 1 states/,
    'an older state is not',
  )
  t.match(
    check(statsOf([], today(4_000)), 'stats; hit', '0', 4_000, 4_000),
    /match none of 1 states/,
    'a state from before asOf is not',
  )
  for (const asOf of [1_900, 7_000])
    t.match(
      check(statsOf([row], today(6_000)), 'stats; hit', '1', 6_000, asOf),
      /later than now, or earlier than Age allows/,
    )
  t.match(check(statsOf([], today(6_000)), 'stats; hit', '3', 6_000), /not marked stale/)
  t.equal(
    check(statsOf([], today(6_000)), 'stats; fwd=stale', '3', 6_000),
    null,
    'an older state is allowed if marked stale',
  )
  t.match(
    check(statsOf([row], today(0)), 'stats; hit', '0', 9_000),
    /match none of/,
    'statistics of another day are not allowed',
  )
})
