// HAProxy sends quote links only to the API processes that reach PostgreSQL.
import t from 'tap'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { startApi, testService } from '../support/service/test-service.ts'
import { checkRequiredPrograms, startHaproxy } from './haproxy.ts'

const limitMs = 30_000
const linkCount = 20

t.test('links avoid a process without PostgreSQL, and keep their page without any', async (t) => {
  checkRequiredPrograms()
  const service = await testService(t)
  await addQuote(service.db, 'P-1')
  const token = await createQuoteLink(service.db, { number: 'P-1' })
  const start = async () => {
    const postgres = await startFaultyProxy(t, service.roles.api)
    const env = { DATABASE_URL: postgres.url, TRUST_PROXY: '127.0.0.1' }
    return { postgres, ...(await startApi(t, service, env)) }
  }
  const [first, second] = await Promise.all([start(), start()])
  const haproxy = await startHaproxy(t, [first, second, second])
  const open = async () => {
    const response = await fetch(`${haproxy.url}/quote/share/${token}`)
    const [status, retryAfter] = [response.status, response.headers.get('retry-after')]
    return { status, retryAfter, page: await response.text() }
  }
  const openMany = async () => {
    const answers = []
    for (let n = 0; n < linkCount; n++) answers.push(await open())
    return answers
  }
  const openEach = (answers: Awaited<ReturnType<typeof openMany>>) =>
    answers.every(({ status }) => status === 200)

  first.postgres.refuseConnections()
  t.ok(await eventually(openMany, openEach, limitMs).then(openEach), 'the others open links')
  t.ok(openEach(await openMany()), 'no link meets the process without PostgreSQL any more')
  const { status } = await fetch(`${first.opsUrl}/health/ready`)
  t.equal(status, 200, 'it goes on answering searches')

  second.postgres.refuseConnections()
  const isReady = async () => (await fetch(`${second.opsUrl}/health/ready?need=links`)).ok
  t.equal(await eventually(isReady, (ready) => !ready, limitMs), false)
  for (const { status, retryAfter, page } of await openMany()) {
    t.equal(status, 503)
    t.equal(retryAfter, '5', 'the service answers, not HAProxy')
    t.match(page, /<html lang=/)
  }
  t.equal((await fetch(`${haproxy.url}/api/search?q=martillo`)).status, 200)

  for (const { postgres } of [first, second]) postgres.restore()
  t.ok(await eventually(openMany, openEach, limitMs).then(openEach), 'links open again')
})
