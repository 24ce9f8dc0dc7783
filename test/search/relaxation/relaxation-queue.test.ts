// How many queries are relaxed at the same time, and in which order: short queries do not wait for
// long ones.
import t from 'tap'
import {
  maxRelaxing,
  RelaxationQueue,
  relaxationTimeout,
} from '../../../src/search/relaxation/relaxation-queue.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'

const { signal } = new AbortController()

/** Occupies every place in the queue. Returns a function that frees one of them. */
function fill(queue: RelaxationQueue): () => void {
  const ends = Array.from({ length: maxRelaxing }, () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void queue.run(10, signal, () => promise)
    return resolve
  })
  return () => ends.pop()?.()
}

t.test(
  'queries with fewer words come first, and those with equally many in their order',
  async (t) => {
    const queue = new RelaxationQueue()
    const free = fill(queue)
    const order: string[] = []
    const waiting = ['ten', 'three', 'ten again', 'two', 'three again'].map((name) => {
      const wordCount = { two: 2, three: 3 }[name.split(' ')[0] ?? ''] ?? 10
      return queue.run(wordCount, signal, async () => void order.push(name))
    })
    free()
    await Promise.all(waiting)
    t.same(order, ['two', 'three', 'three again', 'ten', 'ten again'])
  },
)

t.test('a query that waits too long is not relaxed', async (t) => {
  const queue = new RelaxationQueue()
  const free = fill(queue)
  t.equal(await queue.run(2, signal, async () => t.fail('it was relaxed')), null)
  free()
  t.equal(await queue.run(10, signal, async () => 'relaxed'), 'relaxed', 'the place is free again')
})

t.test('a query whose signal aborts waits no longer', async (t) => {
  replaceUntilEnd(t, relaxationTimeout, { ms: 60_000 })
  const queue = new RelaxationQueue()
  const free = fill(queue)
  const search = new AbortController()
  const aborted = queue.run(2, search.signal, async () => t.fail('it was relaxed'))
  const next = queue.run(3, signal, async () => 'relaxed')
  search.abort()
  t.equal(await aborted, null)
  t.equal(await queue.run(2, search.signal, async () => t.fail('it was relaxed')), null)
  free()
  t.equal(await next, 'relaxed', 'the place is left to the next query')
})

t.test('a relaxation that fails frees its place', async (t) => {
  const queue = new RelaxationQueue()
  const fail = () => Promise.reject(new Error('the engine failed'))
  for (let n = 0; n <= maxRelaxing; n++)
    await t.rejects(queue.run(2, signal, fail), { message: 'the engine failed' })
})
