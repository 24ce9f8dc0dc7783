// How many queries are relaxed at the same time, and in which order: short queries do not wait for
// long ones.
import t from 'tap'
import { maxRelaxing, RelaxationQueue } from '../../../src/search/relaxation/relaxation-queue.ts'

/** Occupies every place in the queue. Returns a function that frees one of them. */
function fill(queue: RelaxationQueue): () => void {
  const ends = Array.from({ length: maxRelaxing }, () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void queue.run(10, () => promise)
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
      return queue.run(wordCount, async () => void order.push(name))
    })
    free()
    await Promise.all(waiting)
    t.same(order, ['two', 'three', 'three again', 'ten', 'ten again'])
  },
)

t.test('a query that waits too long is not relaxed', async (t) => {
  const queue = new RelaxationQueue()
  const free = fill(queue)
  t.equal(await queue.run(2, async () => t.fail('it was relaxed')), null)
  free()
  t.equal(await queue.run(10, async () => 'relaxed'), 'relaxed', 'the place is free again')
})

t.test('a relaxation that fails frees its place', async (t) => {
  const queue = new RelaxationQueue()
  const fail = () => Promise.reject(new Error('the engine failed'))
  for (let n = 0; n <= maxRelaxing; n++)
    await t.rejects(queue.run(2, fail), { message: 'the engine failed' })
})
