// The service behind a proxy that strips a path prefix (PUBLIC_BASE_URL=https://…/erp).
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { OpenApiDocument } from '../../src/api-docs/openapi-document.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { testService } from '../support/service/test-service.ts'

t.test('every link of the service stays under the path of PUBLIC_BASE_URL', async (t) => {
  const { base, sendTo } = await startStrippingProxy(t, '/erp')
  const { app, db } = await testService(t, {
    index: false,
    config: { PUBLIC_BASE_URL: `${base}/` },
  })
  sendTo(Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port))
  await addQuote(db, 'P-1')
  const token = await createQuoteLink(db, { number: 'P-1' })

  const page = await get(`${base}/docs`)
  t.equal(page.status, 200)
  const links = [...page.text.matchAll(/(?:href|src)="([^"#]+)"/g)].map(
    ([, href = '']) => new URL(href.replaceAll('&amp;', '&'), page.url).href,
  )
  t.ok(links.length >= 4)
  // The page contains an empty icon.
  for (const link of links.filter((href) => href !== 'data:,')) {
    t.ok(link.startsWith(`${base}/`), link)
    t.equal((await get(link)).status, 200, link)
  }

  const document = (await (await fetch(`${base}/openapi.json`)).json()) as OpenApiDocument
  t.same(
    document.servers.map(({ url }) => url),
    [base],
    'no final slash',
  )
  for (const path of Object.keys(document.paths)) {
    const response = await get(`${document.servers[0]?.url}${path.replace('{token}', token)}`)
    t.equal(response.status, 200, path)
    const isHtml = response.headers.get('content-type')?.includes('html')
    const relativeLinks = isHtml ? response.text.matchAll(/href="(\?[^"]+)"/g) : []
    for (const [, href = ''] of relativeLinks)
      t.equal((await get(new URL(href.replaceAll('&amp;', '&'), response.url))).status, 200, href)
  }
  t.equal((await get(new URL('/docs', base))).status, 404, 'the proxy serves no other path')
})

/** Reads the whole body, because an unread body keeps its connection open for a minute. */
async function get(address: string | URL) {
  const response = await fetch(address)
  const { status, headers, url } = response
  return { status, headers, url, text: await response.text() }
}

/** Starts a proxy that forwards requests under `path` without that prefix. */
async function startStrippingProxy(
  t: { teardown(fn: () => unknown): void },
  path: string,
): Promise<{ base: string; sendTo(port: number): void }> {
  let port = 0
  const server = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming
    if (!url.startsWith(`${path}/`)) return void outgoing.writeHead(404).end()
    request(
      { port, host: '127.0.0.1', path: url.slice(path.length), method, headers, agent: false },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    ).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    sendTo(target) {
      port = target
    },
  }
}
