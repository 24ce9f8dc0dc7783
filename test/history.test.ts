// A few short random histories on servers of their own: every answer is a state that was committed, and everything is in step at the end.
// `node test/history/run.ts` plays more of them, and a failing seed again.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { playHistory } from './history/history.ts'
import { model } from './history/model.ts'
import { searchSubject } from './history/search.ts'
import { startWorld } from './history/world.ts'

t.test('the judge knows right from wrong', async (t) => {
  const truth = model('absent')
  truth.commit([{ key: 'a', value: 'one' }], 1_000, 1_010)
  truth.commit([{ key: 'a', value: 'two' }], 2_000, 2_010)
  truth.commit([{ key: 'a', value: 'three' }], 2_005, 2_020)
  const possible = (from: number, to: number) => [...truth.possible('a', from, to)]
  t.same(possible(0, 900), ['absent'])
  t.same(possible(0, 1_005), ['absent', 'one'], 'a commit under way may be seen or not')
  t.same(possible(1_100, 1_900), ['one'], 'what was surely overwritten before the window is gone')
  t.same(possible(1_100, 2_002), ['one', 'two'])
  t.same(possible(3_000, 4_000), ['two', 'three'], 'of two that overlap either may be the last')
  const body = (indexedAt: number, name: string) => {
    const hits = [{ sku: 'HX-101', name, description: null, price: null }]
    return JSON.stringify({ hits, meta: { source: 'index', indexedAt: new Date(indexedAt).toISOString() } })
  }
  const judge = (indexedAt: number, name: string) => {
    const truth = model('absent')
    truth.commit([{ key: 'HX-101', value: 'old / null / undefined' }], 1_000, 1_010)
    truth.commit([{ key: 'HX-101', value: 'new / null / undefined' }], 2_000, 2_010)
    const answer = { api: 'api-1', path: '/api/search?q=HX-101', sentAt: 3_000, endedAt: 3_001, status: 200, body: body(indexedAt, name) }
    return searchSubject.judge(answer, truth)
  }
  t.equal(judge(1_500, 'old'), null, 'an index that says it is old may be')
  t.equal(judge(1_500, 'new'), null)
  t.match(judge(2_500, 'old'), /HX-101 is old/, 'one that says it is newer may not')
  t.match(judge(2_500, 'other'), /HX-101 is other/)
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
    const { wrong, answers, events } = await playHistory(world, searchSubject, seed, 80)
    t.same(wrong, [], `seed ${seed}, 80 steps`)
    t.ok(answers > 50, `${answers} answers were judged`)
    if (wrong.length > 0) t.comment(events.join('\n'))
  }
})
