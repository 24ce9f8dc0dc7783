// Uploads that the engine rejects: large ones do not disturb the requests after them, and not every
// failed task is the fault of a document.
import type { Task } from 'meilisearch'
import t from 'tap'
import {
  deleteDocuments,
  PayloadRejected,
  requireUploadSuccess,
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

t.test('a full database or disk is not the fault of a document', async (t) => {
  const isRejected = (code: string, type: string) => {
    const error = { message: 'failed', code, type, link: '' }
    try {
      requireUploadSuccess({ uid: 7, status: 'failed', error } as Task)
    } catch (thrown) {
      return thrown instanceof PayloadRejected
    }
    throw new Error('No error was thrown.')
  }
  t.notOk(isRejected('database_size_limit_reached', 'internal'))
  t.notOk(isRejected('no_space_left_on_device', 'system'))
  t.notOk(isRejected('index_not_found', 'invalid_request'))
  t.ok(isRejected('internal', 'internal'))
  t.ok(isRejected('invalid_document_id', 'invalid_request'))
})
