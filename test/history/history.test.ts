// Tests the history checker itself, and plays a short random history on servers of its own.
// `make endurance` plays many more, and `node test/history/run.ts` a failing seed again.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildQuote, type Quote } from '../stats/quote-builder.ts'
import { expectedStats, type Stats } from '../stats/reference-stats.ts'
import { startCluster } from './cluster.ts'
import { committedStates } from './committed-states.ts'
import { fastClock } from './fast-clock.ts'
import { playHistory } from './play-history.ts'
import { withConnection } from './run-transactions.ts'
import { seededRandom } from './seeded-random.ts'
import { deleteQuotes } from './workloads/quote-rows.ts'
import { searchWorkload } from './workloads/search-workload.ts'
import { createLink, type Link, revokeLink, upsertQuote } from './workloads/share-link-workload.ts'
import { statsWorkload } from './workloads/stats-workload.ts'
import type { Change, CheckContext } from './workloads/workload.ts'

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
    stats: Stats,
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

t.test('every response of a random history shows a committed state', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  // As root the servers run under another account, which must be able to enter the directory.
  await chmod(directory, 0o755)
  const cluster = await startCluster(directory)
  t.teardown(async () => {
    await cluster.stop()
    await rm(directory, { recursive: true, force: true })
  })
  await t.test('the oracle knows links of deleted quotes', async (t) => {
    const links: Link[] = []
    const apply = (change: Change) =>
      withConnection(cluster, (client) => change.apply(client, cluster.clock))
    await apply(upsertQuote('L-1', 'Marca'))
    const [created] = await apply(createLink(seededRandom(1), 'L-1', links))
    t.match(created, { key: /^link / })
    const deletion = await withConnection(cluster, (client) => deleteQuotes(client, 'L-1'))
    t.same(deletion.at(-1), { key: created?.key, value: 'absent' })
    t.same(await apply(revokeLink(1, links)), [], 'its revocation changes no answer')
    for (const { url } of cluster.apis) {
      const { status } = await fetch(`${url}/quote/share/${links[0]?.token}`)
      t.equal(status, 404)
    }
  })
  // Wipes an engine, kills an API, restarts the other engine and puts the database back.
  const seed = 12
  const { violations, responses, eventLog } = await playHistory(cluster, seed, 60)
  t.same(violations, [], `node test/history/run.ts --seed ${seed} --steps 60`)
  t.ok(responses > 50, `${responses} responses were checked`)
  if (violations.length > 0) t.comment(eventLog.join('\n'))
})
