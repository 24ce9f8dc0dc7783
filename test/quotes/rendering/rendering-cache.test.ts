// The cache of renderings: its queue, its pauses, and what it remembers of failures.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { QuoteFailure } from '../../../src/quotes/failures.ts'
import { type LogFailure, RenderingCache } from '../../../src/quotes/rendering/rendering-cache.ts'
import { eventually } from '../../support/eventually.ts'

const queued = (logFailure: LogFailure) => ({ logFailure, waitsInQueue: true })
const ignore = queued(() => undefined)

t.test('a failed rendering is tried again after a pause that doubles', async (t) => {
  let now = 1_000_000
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    clock: { now: () => now, sleep: async () => undefined },
  })
  let attempts = 0
  const fail = async () => {
    attempts += 1
    throw new Error('too large')
  }
  const pauses: number[] = []
  for (let n = 0; n < 10; n += 1) {
    const error = await cache.render('key', fail, ignore).catch((error) => error)
    t.equal(attempts, n + 1)
    await t.rejects(cache.render('key', fail, ignore), {
      message: 'The rendering failed before: too large',
    })
    t.equal(attempts, n + 1)
    pauses.push(error.retryAfterMs / 1000)
    now += error.retryAfterMs
  }
  t.same(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
  const content = Buffer.from('x')
  t.equal(await cache.render('key', async () => content, ignore), content)
})

t.test('a rendering that takes longer than a request waits goes on and is cached', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxWaitMs: 20,
  })
  const content = Buffer.from('x')
  let renderings = 0
  const renderSlowly = async () => {
    renderings += 1
    await sleep(1_000)
    return content
  }
  const pending = { message: /not ready yet/, reason: 'pending', retryAfterMs: 5_000 }
  await t.rejects(cache.render('slow', renderSlowly, ignore), pending)
  const second = cache.render('slow', renderSlowly, ignore)
  await t.rejects(second, pending, 'a second request waits for the same one')
  const queued = cache.render('queued', renderSlowly, ignore)
  await t.rejects(queued, pending)
  t.ok(await eventually(async () => cache.get('queued'), Boolean))
  t.equal(await cache.render('slow', renderSlowly, ignore), content)
  t.equal(renderings, 2)
})

t.test('a pause is five times as long as the rendering before it, up to a limit', async (t) => {
  let now = 1_000
  const pauses: number[] = []
  const sleepMs = async (ms: number) => {
    pauses.push(ms)
    now += ms
  }
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 0,
    getSize: ({ length }) => length,
    maxPauseMs: 400,
    clock: { now: () => now, sleep: sleepMs },
  })
  const render = (key: string, durationMs: number) =>
    cache.render(
      key,
      async () => {
        now += durationMs
        return Buffer.from('x')
      },
      ignore,
    )
  await Promise.all([render('1', 50), render('2', 500), render('3', 1)])
  t.same(pauses, [250, 400], 'the first one does not wait')
  now += 5
  await render('4', 1)
  t.equal(pauses.length, 2, 'after a while the next one starts at once')
})

t.test('renderings that do not wait in the queue start at once', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxQueued: 0,
  })
  const started: string[] = []
  const { promise: finished, resolve: finish } = Promise.withResolvers<Buffer>()
  const render = (key: string, waitsInQueue: boolean) =>
    cache.render(
      key,
      () => {
        started.push(key)
        return finished
      },
      { ...ignore, waitsInQueue },
    )
  const renderings = [render('large', true), render('small', false), render('other', false)]
  await t.rejects(render('second large', true), {
    message: /queued/,
    reason: 'queue_full',
    skipErrorLog: true,
  })
  t.same(started.toSorted(), ['large', 'other', 'small'])
  finish(Buffer.from('x'))
  t.equal((await Promise.all(renderings)).length, 3)
})

t.test('a failed rendering is logged once, however many requests wait for it', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxWaitMs: 200,
  })
  const logged: unknown[] = []
  const log = queued((error) => logged.push(error))
  const failAfter = (ms: number, error: Error) => async () => {
    await sleep(ms)
    throw error
  }
  const tooLarge = new Error('too large')
  const altered = new QuoteFailure('altered')
  const isLogged = { reason: 'rendering_failed', message: 'too large', skipErrorLog: true }
  const requests = [1, 2].map(() => cache.render('key', failAfter(10, tooLarge), log))
  for (const request of requests) await t.rejects(request, isLogged)
  t.same(logged, [tooLarge])
  await t.rejects(cache.render('key', failAfter(0, tooLarge), log), {
    message: 'The rendering failed before: too large',
    reason: 'rendering_failed',
    skipErrorLog: true,
  })
  t.equal(logged.length, 1, 'it was not tried again')

  await t.rejects(cache.render('slow', failAfter(600, altered), log), {
    message: /not ready/,
    reason: 'pending',
  })
  t.ok(await eventually(async () => logged.length === 2, Boolean), 'no request waits for it')
  const again = cache.render('slow', failAfter(0, altered), log)
  await t.rejects(again, { message: altered.message, reason: 'altered', skipErrorLog: true })
  t.same(logged, [tooLarge, altered, altered])

  const expected = cache.render('key 2', failAfter(0, new QuoteFailure('pdf_unsupported')), log)
  await t.rejects(expected, { message: /characters/, reason: 'pdf_unsupported' })
  t.equal(logged.length, 3, 'an expected failure is not logged')
})
