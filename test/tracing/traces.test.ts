// Traces reach a collector over OTLP/HTTP: spans of requests, and of what they ask of servers.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { openTraces } from '../../src/tracing/open-traces.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { eventually } from '../support/eventually.ts'
import { secretOf } from '../support/key-parts.ts'
import { fastStart } from '../support/run-program.ts'
import { startLocalServer } from '../support/servers/local-server.ts'
import { startApi, testService } from '../support/service/test-service.ts'

// These tests mostly wait.
t.jobs = 3

const preload = import.meta.resolve('./preload-frequent-batches.ts')
const withFrequentBatches = { NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${preload}` }

type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: Record<string, unknown> }[]
  status?: { code?: number }
}
type Batch = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

/** Decodes what a collector would get. */
async function startCollector() {
  const bodies: string[] = []
  const answer = { status: 200 }
  const url = await startLocalServer(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString())
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  return {
    url,
    bodies,
    answer,
    spans: () =>
      bodies
        .map((body) => JSON.parse(body) as Batch)
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans),
  }
}

const includes = (part: string) => (text: string) => text.includes(part)
const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

t.test('a request and what it asks of the servers are one trace', async (t) => {
  const collector = await startCollector()
  const service = await testService(t)
  const { db } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  await service.sync()
  await addQuote(db, 'P-1')
  const token = await createQuoteLink(db, { number: 'P-1' })
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'ERP',
    scopes: ['search:read', 'stats:read'],
  })
  const api = await startApi(t, service, {
    ...withFrequentBatches,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = {
    authorization: `Bearer ${key}`,
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
  }
  for (const path of ['/api/search?q=martillosecreto', '/api/stats', `/quote/share/${token}`])
    t.equal((await fetch(`${api.url}${path}`, { headers })).status, 200, path)
  t.equal((await fetch(`${api.url}/nothing/${token}`)).status, 404)

  const spans = await eventually(
    async () => collector.spans(),
    (all) => all.filter(({ kind }) => kind === 2).length >= 4,
  )
  const server = (name: string) => spans.find((span) => span.kind === 2 && span.name === name)
  const search = server('GET /api/search')
  t.match(search, { traceId, parentSpanId: 'b7ad6b7169203331' })
  t.match(search && attributesOf(search), {
    'http.request.method': 'GET',
    'http.route': '/api/search',
    'http.response.status_code': '200',
    'tqs.source': 'index',
  })
  const childrenOf = (parent: Span | undefined) =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name)
  t.ok(childrenOf(search).includes('meilisearch search'), `${childrenOf(search)}`)
  t.ok(childrenOf(search).includes('postgresql select'), 'the key is looked up')
  const stats = childrenOf(server('GET /api/stats'))
  t.ok(
    stats.some((name) => name.startsWith('redis ')),
    `${stats}`,
  )
  t.ok(
    stats.some((name) => name.startsWith('postgresql ')),
    `${stats}`,
  )
  const link = server('GET /quote/share/:token')
  t.ok(childrenOf(link).some((name) => name.startsWith('postgresql ')))
  t.ok(server('GET'), 'a request without a route')
  // What runs in the background belongs to no request.
  t.same(
    spans.filter(({ kind, parentSpanId }) => kind !== 2 && parentSpanId === undefined),
    [],
  )

  const sent = collector.bodies.join()
  for (const secret of [token, key, secretOf(key), 'martillosecreto', 'from quote', '127.0.0.1'])
    t.notOk(sent.includes(secret), `no ${secret}`)

  // The last spans are sent at the stop.
  await fetch(`${api.url}/api/search?q=x`, { headers: { authorization: `Bearer ${key}` } })
  api.child.kill('SIGTERM')
  t.equal(await api.exit, 0)
  t.equal(collector.spans().filter(({ name }) => name === 'GET /api/search').length, 2)
})

t.test('without a collector requests are answered, and the process stops', async (t) => {
  const service = await testService(t)
  const api = await startApi(t, service, {
    ...withFrequentBatches,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  })
  for (let count = 0; count < 20; count += 1)
    t.equal((await fetch(`${api.url}/api/search?q=x`)).status, 200)
  const log = await eventually(async () => api.output(), includes('Traces'))
  t.match(log, /"level":50.*"msg":"Traces cannot be sent \(connect ECONNREFUSED 127.0.0.1:9\)/)
  api.child.kill('SIGTERM')
  t.equal(await api.exit, 0)
})

t.test('the log says once why traces are rejected, and once that they are accepted', async (t) => {
  const collector = await startCollector()
  const service = await testService(t)
  const api = await startApi(t, service, {
    ...withFrequentBatches,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  })
  const linesAbout = (text: string) =>
    api
      .output()
      .split('\n')
      .filter((line) => line.includes(text))
  /** Resolves when the collector has received as many further batches. */
  const sendBatches = async (count: number) => {
    const wanted = collector.bodies.length + count
    return eventually(
      async () => {
        await fetch(`${api.url}/api/search?q=x`)
        return collector.bodies.length
      },
      (received) => received >= wanted,
    )
  }
  collector.answer.status = 404
  await sendBatches(2)
  t.match(linesAbout('Traces'), [/"level":50.*Traces cannot be sent \(404 Not Found\)/])
  collector.answer.status = 200
  await sendBatches(1)
  const lines = await eventually(
    async () => linesAbout('Traces'),
    ({ length }) => length > 1,
  )
  t.match(lines, [/cannot be sent/, /"level":30.*Traces can be sent again/])
  t.equal(lines.length, 2)
})

t.test('without the setting there are no traces', async (t) => {
  t.equal(await openTraces(undefined, 1), null)
})

t.test('the runbook adds the packages that these tests run with to the image', async (t) => {
  const root = new URL('../../', import.meta.url)
  const read = (file: string) => readFileSync(new URL(file, root), 'utf8')
  const [, block = ''] = /```dockerfile\n([^`]*)```/.exec(read('docs/operations/runbook.md')) ?? []
  const added = [...block.matchAll(/(@opentelemetry\/[\w-]+)@([\d.]+)/g)]
  const { devDependencies } = JSON.parse(read('package.json')) as {
    devDependencies: Record<string, string>
  }
  const tested = Object.entries(devDependencies).filter(([name]) => name.startsWith('@opentele'))
  t.same(added.map(([, name, version]) => [name, version]).sort(), tested.sort())
})
