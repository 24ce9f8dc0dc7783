// The cache of renderings: its queue, its pauses, and what it remembers of failures.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { QuoteFailure } from '../../../src/quotes/failures.ts'
import { RenderingCache } from '../../../src/quotes/rendering/rendering-cache.ts'
import { eventually } from '../../support/eventually.ts'

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
    const error = await cache.render('key', fail).catch((error) => error)
    t.equal(attempts, n + 1)
    await t.rejects(cache.render('key', fail), {
      message: 'The rendering failed before: too large',
    })
    t.equal(attempts, n + 1)
    pauses.push(error.retryAfterMs / 1000)
    now += error.retryAfterMs
  }
  t.same(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
  const content = Buffer.from('x')
  t.equal(await cache.render('key', async () => content), content)
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
  await t.rejects(cache.render('slow', renderSlowly), pending)
  const second = cache.render('slow', renderSlowly)
  await t.rejects(second, pending, 'a second request waits for the same one')
  const queued = cache.render('queued', renderSlowly)
  await t.rejects(queued, pending)
  t.ok(await eventually(async () => cache.get('queued'), Boolean))
  t.equal(await cache.render('slow', renderSlowly), content)
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
    cache.render(key, async () => {
      now += durationMs
      return Buffer.from('x')
    })
  await Promise.all([render('1', 50), render('2', 500), render('3', 1)])
  t.same(pauses, [250, 400], 'the first one does not wait')
  now += 5
  await render('4', 1)
  t.equal(pauses.length, 2, 'after a while the next one starts at once')
})

t.test('a failure is reported once, even if no request waits for it', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxWaitMs: 20,
  })
  const reported: unknown[] = []
  const report = (error: unknown) => reported.push(error)
  const cause = new Error('too large')
  const fail = async () => {
    await sleep(60)
    throw cause
  }
  await t.rejects(cache.render('key', fail, report), { message: /not ready yet/ })
  await eventually(async () => reported.length, Boolean)
  const failedBefore = {
    message: 'The rendering failed before: too large',
    reason: 'rendering-failed',
  }
  await t.rejects(cache.render('key', fail, report), failedBefore)
  t.same(reported, [cause])
})

t.test('a failure that requests log is reported only if no request waits for it', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxWaitMs: 20,
  })
  const reported: unknown[] = []
  const report = (error: unknown) => reported.push(error)
  const altered = new QuoteFailure('altered')
  const failAfter = (ms: number) => async () => {
    await sleep(ms)
    throw altered
  }
  const requests = [1, 2].map(() => cache.render('slow', failAfter(60), report))
  for (const request of requests)
    await t.rejects(request, { message: /not ready/, reason: 'pending' })
  t.ok(await eventually(async () => reported.length, Boolean))
  t.same(reported, [altered], 'both requests have got a response before')
  await t.rejects(cache.render('fast', failAfter(0), report), {
    message: altered.message,
    reason: 'altered',
  })
  t.equal(reported.length, 1, 'the request that waits logs it')
})
