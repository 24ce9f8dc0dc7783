// The queue of the renderings of one process: its length, its pauses, and how it ends.
import t from 'tap'
import { QuoteFailure } from '../../../src/quotes/failures.ts'
import { RenderingQueue } from '../../../src/quotes/rendering/rendering-process.ts'

const never = new AbortController().signal

t.test('a pause is five times as long as the rendering before it, up to a limit', async (t) => {
  let now = 1_000
  const pauses: number[] = []
  const pause = async (ms: number) => {
    pauses.push(ms)
    now += ms
  }
  const queue = new RenderingQueue(never, { maxPauseMs: 400, now: () => now, pause })
  const render = (durationMs: number) =>
    queue.run(async () => {
      now += durationMs
    })
  await Promise.all([render(50), render(500), render(1)])
  t.same(pauses, [250, 400], 'the first one does not wait')
  now += 5
  await render(1)
  t.equal(pauses.length, 2, 'after a while the next one starts at once')
})

t.test('renderings start one after the other, and a full queue refuses more', async (t) => {
  const queue = new RenderingQueue(never, { maxQueued: 1 })
  const started: string[] = []
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>()
  const render = (name: string) =>
    queue.run(() => {
      started.push(name)
      return finished
    })
  const first = render('first')
  const second = render('second')
  await t.rejects(render('third'), { message: /queued/, reason: 'queue_full' })
  t.same(started, ['first'])
  finish('x')
  t.same(await Promise.all([first, second]), ['x', 'x'])
  t.same(started, ['first', 'second'])
  t.equal(await render('fourth'), 'x', 'there is room again')
})

t.test('stopping ends the pause, and queued renderings do not start', async (t) => {
  const stopping = new AbortController()
  let now = 0
  const oneHourMs = 3_600_000
  const queue = new RenderingQueue(stopping.signal, { maxPauseMs: oneHourMs, now: () => now })
  const first = queue.run(async () => {
    now += oneHourMs
  })
  const queued = [1, 2].map(() => queue.run(async () => t.fail('it started')))
  await first
  stopping.abort(new QuoteFailure('stopping'))
  const stopped = { message: /being made/, reason: 'stopping' }
  for (const rendering of queued) await t.rejects(rendering, stopped)
})

t.test('renderings that wait without a pause do not start after stopping either', async (t) => {
  const stopping = new AbortController()
  const queue = new RenderingQueue(stopping.signal)
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>()
  const first = queue.run(() => {
    start()
    return finished
  })
  const queued = queue.run(async () => t.fail('it started'))
  await started
  stopping.abort(new QuoteFailure('stopping'))
  finish('x')
  t.equal(await first, 'x', 'the queue does not end the one that runs')
  await t.rejects(queued, { message: /being made/, reason: 'stopping' })
})
