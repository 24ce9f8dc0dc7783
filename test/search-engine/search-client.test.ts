// The client of the search engine, if something else than Meilisearch answers.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openSearchEngine } from '../../src/search-engine/search-client.ts'

t.test('an answer without results is an error', async (t) => {
  const proxy = createServer((_request, response) => response.end('{}'))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  const engine = openSearchEngine(`http://127.0.0.1:${port}`, 'no key')
  t.teardown(async () => {
    await engine.close()
    proxy.close()
  })
  await t.rejects(engine.search([], new AbortController().signal), {
    message: 'the search engine returned no results',
  })
})
