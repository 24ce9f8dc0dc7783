// Large uploads that the engine rejects unread do not disturb the requests after them.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { bisectWrite } from '../../../src/indexing/upload.ts'
import { servers } from '../../support/database/test-database.ts'

t.test('the engine answers after it has rejected large requests unread', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  // A request on a connection that the engine has stopped reading would never be answered.
  const timeoutMs = 30_000
  const engine = openIndexingClient(url, meiliMasterKey, { timeoutMs })
  const indexName = `test_${randomBytes(6).toString('hex')}`
  await engine.createIndex(indexName).waitTask()
  t.teardown(() => engine.deleteIndexIfExists(indexName))
  const { key, uid } = await engine.createKey({
    actions: ['indexes.get'],
    indexes: [indexName],
    expiresAt: null,
  })
  t.teardown(() => engine.deleteKey(uid))
  const index = openIndexingClient(url, key, { timeoutMs }).index(indexName)
  const lines = Array.from({ length: 4_000 }, (_, n) => ({
    id: String(n),
    text: `{"id":"${n}","description":"${'texto '.repeat(15)}"}\n`,
  }))
  const ids = Array.from({ length: 40_000 }, (_, n) => String(1_000_000 + n))
  const rejection = { message: /API key is invalid/ }
  for (let attempt = 0; attempt < 5; attempt++) {
    await t.rejects(bisectWrite(index, { lines }), rejection)
    await engine.getVersion()
    await t.rejects(bisectWrite(index, { ids }), rejection)
    await engine.getVersion()
  }
})
