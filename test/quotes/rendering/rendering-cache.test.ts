// The cache of renderings: who shares a rendering, and what it remembers of failures.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { HandledFailure, QuoteFailure } from '../../../src/quotes/failures.ts'
import { RenderingCache } from '../../../src/quotes/rendering/rendering-cache.ts'
import { eventually } from '../../support/eventually.ts'

const ignore = () => undefined

t.test('a failed rendering is tried again after a pause that doubles', async (t) => {
  let now = 1_000_000
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    now: () => now,
  })
  let attempts = 0
  const fail = async () => {
    attempts += 1
    throw new Error('too large')
  }
  const pauses: number[] = []
  for (let n = 0; n < 10; n += 1) {
    const error = await cache.getOrRender('key', fail, ignore).catch((error) => error)
    t.equal(attempts, n + 1)
    await t.rejects(cache.getOrRender('key', fail, ignore), {
      message: 'The rendering failed before: too large',
    })
    t.equal(attempts, n + 1)
    pauses.push(error.retryAfterMs / 1000)
    now += error.retryAfterMs
  }
  t.same(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
  const content = Buffer.from('x')
  t.same(await cache.getOrRender('key', async () => content, ignore), {
    content,
    isCached: false,
  })
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
  await t.rejects(cache.getOrRender('slow', renderSlowly, ignore), pending)
  const second = cache.getOrRender('slow', renderSlowly, ignore)
  await t.rejects(second, pending, 'a second request waits for the same one')
  const getSlow = () => cache.getOrRender('slow', renderSlowly, ignore).catch(() => null)
  t.same(await eventually(getSlow, (slow) => slow?.isCached === true), {
    content,
    isCached: true,
  })
  t.equal(renderings, 1)
})

t.test('a rendering that fills the cache is kept, and a larger one is not', async (t) => {
  const cache = new RenderingCache<Buffer>({ cacheBytes: 1000, getSize: ({ length }) => length })
  const getOrRender = (bytes: number) =>
    cache.getOrRender(`${bytes}`, async () => Buffer.alloc(bytes), ignore)
  for (const bytes of [1000, 1001]) await getOrRender(bytes)
  t.match(await getOrRender(1000), { isCached: true })
  t.match(await getOrRender(1001), { isCached: false })
})

t.test('a failed rendering is logged once, however many requests wait for it', async (t) => {
  const cache = new RenderingCache<Buffer>({
    cacheBytes: 1000,
    getSize: ({ length }) => length,
    maxWaitMs: 200,
  })
  const logged: unknown[] = []
  const log = (error: unknown) => {
    logged.push(error)
  }
  const failAfter = (ms: number, error: Error) => async () => {
    await sleep(ms)
    throw error
  }
  /** The error handler of the route does not log a HandledFailure again. */
  const rejectsAsLogged = async (request: Promise<unknown>, expected: object) => {
    const error = await request.catch((caught: unknown) => caught)
    t.type(error, HandledFailure)
    t.match(error, expected)
  }
  const tooLarge = new Error('too large')
  const altered = new QuoteFailure('altered')
  const failed = { reason: 'rendering_failed', message: 'too large' }
  const requests = [1, 2].map(() => cache.getOrRender('key', failAfter(10, tooLarge), log))
  for (const request of requests) await rejectsAsLogged(request, failed)
  t.same(logged, [tooLarge])
  const early = cache.getOrRender('key', failAfter(0, tooLarge), log)
  const failedBefore = { ...failed, message: 'The rendering failed before: too large' }
  await rejectsAsLogged(early, failedBefore)
  t.equal(logged.length, 1, 'it was not tried again')

  await t.rejects(cache.getOrRender('slow', failAfter(600, altered), log), {
    message: /not ready/,
    reason: 'pending',
  })
  t.ok(await eventually(async () => logged.length === 2, Boolean), 'no request waits for it')
  const again = cache.getOrRender('slow', failAfter(0, altered), log)
  await rejectsAsLogged(again, { reason: 'altered', message: altered.message })
  t.same(logged, [tooLarge, altered, altered])

  const expected = cache.getOrRender(
    'key 2',
    failAfter(0, new QuoteFailure('pdf_unsupported')),
    log,
  )
  await t.rejects(expected, { message: /characters/, reason: 'pdf_unsupported' })
  t.equal(logged.length, 3, 'an expected failure is not logged')
})
