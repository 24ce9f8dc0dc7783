// A few short random histories on servers of their own: every answer is a state that was committed, and everything is in step at the end.
// `node test/history/run.ts` plays more of them, and a failing seed again.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { expectedFigures, type Quote, quote } from '../stats/independent-model.ts'
import { fastClock } from './clock.ts'
import { playHistory } from './history.ts'
import { model } from './model.ts'
import { searchSubject } from './search.ts'
import { statsSubject } from './stats.ts'
import type { Scene } from './subject.ts'
import { startWorld } from './world.ts'

t.test('the judge knows right from wrong', async (t) => {
  const truth = model()
  truth.commit([{ key: 'a', value: 'one', order: 1 }], 1_000, 1_010)
  truth.commit([{ key: 'a', value: 'three', order: 3 }], 2_005, 2_020)
  truth.commit([{ key: 'a', value: 'two', order: 2 }], 2_000, 2_010)
  const possible = (from: number, to: number) => [...truth.possible('a', from, to)].sort()
  t.same(possible(0, 900), ['absent'])
  t.same(possible(0, 1_005), ['absent', 'one'], 'a commit under way may be seen or not')
  t.same(possible(1_100, 1_900), ['one'], 'what was surely overwritten before the window is gone')
  t.same(possible(1_100, 2_002), ['one', 'two'])
  t.same(
    possible(3_000, 4_000),
    ['three'],
    'of two that overlap the one whose statement came later is the last',
  )

  truth.commit([{ key: 'b', value: 'x', order: 4 }], 2_500, 2_600)
  truth.commit([{ key: 'c', value: 'y', order: 5 }], 2_550, 2_650)
  truth.commit([{ key: 'b', value: 'z', order: 6 }], 2_590, 2_700)
  const states = (from: number, to: number) =>
    [...truth.states('', from, to)]
      .map(({ values }) => ['a', 'b', 'c'].map((key) => values.get(key) ?? '-').join(''))
      .sort()
  t.same(states(0, 100), ['---'])
  t.same(
    states(2_550, 2_580),
    ['three--', 'three-y', 'threex-', 'threexy'],
    'two that overlap come in either order',
  )
  t.same(
    states(2_605, 2_800),
    ['threex-', 'threexy', 'threez-', 'threezy'],
    'but not two of the same key',
  )
  t.same(states(2_800, 2_900), ['threezy'])

  const scene: Scene = {
    model: truth,
    clock: fastClock(0),
    startedAt: 0,
    inTrouble: () => false,
    answeredBefore: () => false,
  }
  const shown = (name: string) => `${name} / null / undefined`
  truth.commit([{ key: 'HX-101', value: shown('old'), order: 7 }], 4_000, 4_010)
  truth.commit([{ key: 'HX-101', value: shown('new'), order: 8 }], 5_000, 5_010)
  const asked = { api: 'api-1', status: 200, headers: {}, sentAt: 6_000, endedAt: 6_001 } as const
  const searched = (indexedAt: number, name: string) => {
    const hits = [{ sku: 'HX-101', name, description: null, price: null }]
    const body = JSON.stringify({
      hits,
      meta: { source: 'index', indexedAt: new Date(indexedAt).toISOString() },
    })
    return searchSubject().judge({ ...asked, path: '/api/search?q=HX-101', body }, scene)
  }
  t.equal(searched(4_500, 'old'), null, 'an index that says it is old may be')
  t.equal(searched(4_500, 'new'), null)
  t.match(searched(5_500, 'old'), /HX-101 is old/, 'one that says it is newer may not')
  t.match(searched(5_500, 'other'), /HX-101 is other/)

  const row = {
    ...quote('Q-1', {
      status: 'sent',
      issued_on: '1970-01-01',
      valid_until: '1970-01-01',
      decided_on: null,
    }),
    version: 1,
  }
  truth.commit([{ key: 'quote Q-1 v1', value: JSON.stringify(row), order: 9 }], 3_000, 3_010)
  const figures = (quotes: Quote[], today: string) =>
    JSON.stringify(
      expectedFigures(quotes, { today, date: 'issued', country: undefined, bounds: null }),
    )
  const counted = (body: string, how: string, age: string, sentAt: number) => {
    const headers = { 'cache-status': how, age }
    return statsSubject().judge(
      { ...asked, headers, path: '/api/stats', body, sentAt, endedAt: sentAt + 1 },
      scene,
    )
  }
  const today = (ms: number) => scene.clock.days(ms, ms)[0] ?? ''
  t.equal(counted(figures([row], today(6_000)), 'stats; hit', '0', 6_000), null)
  t.equal(
    counted(figures([], today(4_000)), 'stats; hit', '0', 4_000),
    null,
    'what was so a second ago may be said',
  )
  t.match(
    counted(figures([], today(6_000)), 'stats; hit', '1', 6_000),
    /was so in none of 1 states/,
    'what was so before that may not',
  )
  t.match(counted(figures([], today(6_000)), 'stats; hit', '3', 6_000), /does not say stale/)
  t.equal(
    counted(figures([], today(6_000)), 'stats; fwd=stale', '3', 6_000),
    null,
    'unless it says so',
  )
  t.match(
    counted(figures([row], today(0)), 'stats; hit', '0', 9_000),
    /was so in none/,
    'nor the figures of another day',
  )
})

t.test('random histories of changes and faults', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  await chmod(directory, 0o755) // as root the servers run as somebody else, who must be able to enter
  const world = await startWorld(directory)
  t.teardown(async () => {
    await world.stop()
    await rm(directory, { recursive: true, force: true })
  })
  for (const seed of [1, 11]) {
    const { wrong, answers, events } = await playHistory(world, seed, 60)
    t.same(wrong, [], `node test/history/run.ts --seed ${seed} --steps 60`)
    t.ok(answers > 50, `${answers} answers were judged`)
    if (wrong.length > 0) t.comment(events.join('\n'))
  }
})
