// More work than can be done: what does not fit is refused at once, and what is answered is answered in time.
import t from 'tap'
import { eventually, servers, testService } from './helper.ts'
import { wireTo } from './proxy.ts'

t.test('searches beyond what the engine can take are 503 with Retry-After, and the rest is answered', async (t) => {
  const { meiliUrls } = await servers()
  const wire = await wireTo(t, meiliUrls[0] ?? '')
  const { app } = await testService(t, { config: { MEILI_URL: wire.url, SEARCH_MEMORY_MB: 0 } })
  t.equal((await app.inject('/api/search?q=x')).json().meta.source, 'index')
  wire.delayMs = 150
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => app.inject(`/api/search?q=x${n}`)))
  const answered = answers.filter(({ statusCode }) => statusCode === 200)
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  t.equal(answered.length + refused.length, 200)
  t.ok(answered.length >= 24, `${answered.length} answered`)
  t.ok(refused.length >= 100, `${refused.length} refused`)
  t.match(refused[0]?.json(), { code: 'unavailable', status: 503, detail: /Try again/ })
  t.equal(refused[0]?.headers['retry-after'], '1')

  wire.delayMs = 0
  const burst = await Promise.all(Array.from({ length: 40 }, (_, n) => app.inject(`/api/search?q=y${n}`)))
  t.same(new Set(burst.map(({ statusCode }) => statusCode)), new Set([200]), 'a burst waits its turn')
})

t.test('a process that is late refuses most of what comes, without a line in the log for each, until it is no longer', async (t) => {
  const lines: string[] = []
  const { app } = await testService(t, { config: { SHED_DELAY_MS: 20 }, log: (line) => lines.push(line) })
  const ask = async () => (await app.inject('/api/search')).statusCode
  t.equal(await ask(), 200)
  const until = Date.now() + 1_500
  const seen: number[] = []
  while (Date.now() < until) {
    const busyUntil = Date.now() + 250
    while (Date.now() < busyUntil);
    seen.push(await ask())
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const answers = await Promise.all(Array.from({ length: 30 }, () => app.inject('/api/search')))
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  t.ok(refused.length >= 10, `${refused.length} refused`)
  t.match(refused[0]?.json(), { code: 'unavailable' })
  t.equal(refused[0]?.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.equal(refused[0]?.headers['retry-after'], '1')
  t.notOk(lines.some((line) => JSON.parse(line).level >= 50))
  t.equal(await eventually(ask, (status) => status === 200), 200)
})
