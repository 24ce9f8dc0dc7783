// What prevents endless rebuilds: one that does not help is not repeated at once.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { countCheckInterval } from '../../../src/indexing/indexer.ts'
import { requestRebuild } from '../../../src/indexing/registration.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { testService } from '../../support/service/test-service.ts'
import { startIndexer, waitForOutput } from '../run-indexer.ts'

t.test('a number of documents that stays wrong causes one rebuild', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
  replaceUntilEnd(t, countCheckInterval, { ms: 500 })
  const meiliUrl = await startMiscountingProxy(t, service.config.MEILI_URL)
  const indexer = await startIndexer(t, service, { meiliUrl })
  await waitForOutput(indexer, 'A rebuild did not help. The number of documents differs')
  // Other reasons do not wait.
  await service.pool.query('truncate products cascade')
  await waitForOutput(indexer, 'The index contains 0 products.')
  t.match(indexer.output(), 'The table of products was truncated.')
  await requestRebuild(service.db, service.config.SEARCH_ENGINE)
  await waitForOutput(indexer, 'A rebuild was requested.')
  t.equal(indexer.output().match(/number of products: .* Building the index/g)?.length, 1)
  t.equal(indexer.output().match(/A rebuild did not help.* 1 product,/g)?.length, 1)
})

/** Starts an engine with a document that nobody can see, as another program might add one. */
async function startMiscountingProxy(t: Test, engineUrl: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const { authorization = '', 'content-type': contentType } = headers
    const answer = await fetch(new URL(url, engineUrl), {
      method,
      headers: { authorization, ...(contentType && { 'content-type': contentType }) },
      ...(method !== 'GET' && { body: await buffer(request) }),
    })
    const text = await answer.text()
    const body = url.endsWith('/stats')
      ? JSON.stringify({ ...JSON.parse(text), numberOfDocuments: 99 })
      : text
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
