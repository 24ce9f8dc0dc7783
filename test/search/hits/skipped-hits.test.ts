// How many hits before a later page the engine skips, and when these are too many.
import t from 'tap'
import {
  countSkippableHits,
  findPageStart,
  hasSkippedTooMany,
} from '../../../src/search/hits/skipped-hits.ts'

t.test('each group before the words is assumed to have at most 200 products', async (t) => {
  t.equal(countSkippableHits(['words'], 1_000), 1_000)
  t.equal(countSkippableHits(['exact-sku', 'words'], 1_000), 800)
  t.equal(countSkippableHits(['exact-sku', 'pinned', 'words'], 1_000), 600)
  t.equal(countSkippableHits(['exact-sku', 'words'], 200), 0)
  t.equal(countSkippableHits(['exact-sku', 'words'], 150), 0)
})

t.test('nothing is skipped after a group that may have many products', async (t) => {
  t.equal(countSkippableHits(['exact-sku', 'partial-code', 'words'], 1_000), 0)
  t.equal(countSkippableHits(['exact-sku', 'enye-names', 'words'], 1_000), 0)
})

t.test('nothing is skipped if there is no group of words', async (t) => {
  t.equal(countSkippableHits(['exact-sku', 'pinned'], 1_000), 0)
})

t.test('hits of the page were skipped if an earlier group has more products', async (t) => {
  t.notOk(hasSkippedTooMany(800, 3, 1_000))
  t.notOk(hasSkippedTooMany(800, 200, 1_000))
  t.ok(hasSkippedTooMany(800, 201, 1_000))
  t.ok(hasSkippedTooMany(800, 212, 1_000))
  t.notOk(hasSkippedTooMany(0, 212, 100), 'nothing was skipped')
})

t.test('the page begins after the returned hits that are before it', async (t) => {
  t.equal(findPageStart(800, 1_000), 200)
  t.equal(findPageStart(0, 24), 24)
})
