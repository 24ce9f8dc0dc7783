// The client of the indexer gives up a request that the search engine never answers.
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { indexingRequestTimeout, openIndexingClient } from '../../../src/indexing/engine.ts'
import { findErrorKind } from '../../../src/indexing/errors.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'

t.test('a request without an answer fails, also if the caller names no limit', async (t) => {
  replaceUntilEnd(t, indexingRequestTimeout, { ms: 100 })
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const request = openIndexingClient(`http://127.0.0.1:${port}`, 'a key').getKeys()
  const error = await request.catch((thrown: unknown) => thrown)
  t.ok(error instanceof Error)
  t.equal(findErrorKind(error), 'engine_unreachable')
})
