// Requests with a large body that the engine rejects do not disturb the requests after them.
import t from 'tap'
import {
  deleteDocuments,
  uploadAndBisect,
} from '../../../src/indexing/documents/document-upload.ts'
import { openIndexingClient } from '../../../src/indexing/engine/indexing-client.ts'
import { servers } from '../../support/database/test-database.ts'

t.test('the engine answers after it has rejected large requests unread', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  // A request on a connection that the engine has stopped reading would never be answered.
  const timeoutMs = 30_000
  const engine = openIndexingClient(url, meiliMasterKey, { timeoutMs })
  const index = openIndexingClient(url, 'a key that does not exist', { timeoutMs }).index(
    'products',
  )
  const lines = Array.from({ length: 4_000 }, (_, n) => ({
    id: String(n),
    text: `{"id":"${n}","description":"${'texto '.repeat(15)}"}\n`,
  }))
  const ids = Array.from({ length: 40_000 }, (_, n) => String(1_000_000 + n))
  const rejection = { message: /API key is invalid/ }
  for (let attempt = 0; attempt < 5; attempt++) {
    await t.rejects(uploadAndBisect(index, lines), rejection)
    await engine.getVersion()
    await t.rejects(deleteDocuments(index, ids), rejection)
    await engine.getVersion()
  }
})
