// What kind of error the indexer counts: what has failed, or a bug.
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { DatabaseError } from 'pg'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import {
  indexingRequestTimeout,
  openIndexingClient,
  TaskFailed,
} from '../../src/indexing/engine.ts'
import { findErrorKind } from '../../src/indexing/errors.ts'
import { LeaseLost, ServerReplaced } from '../../src/indexing/lease.ts'
import { WriteRejected } from '../../src/indexing/upload.ts'
import { servers } from '../support/database/test-database.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

const withCode = (code: string) => Object.assign(new Error('failed'), { code })
const bug = new TypeError("Cannot read properties of 'connection'")

t.test('an error has the kind of what has failed', async (t) => {
  const { meiliUrls } = await servers()
  const db = openDatabase('postgres://nobody@127.0.0.1:9/none')
  t.teardown(() => db.destroy())
  // A server that never answers.
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  replaceUntilEnd(t, indexingRequestTimeout, { ms: 1_000 })
  const readKeys =
    (url = '') =>
    () =>
      openIndexingClient(url, 'unknown').getKeys()
  const rows: [kind: ReturnType<typeof findErrorKind>, error: unknown][] = [
    ['lease_lost', new LeaseLost()],
    ['postgresql', new ServerReplaced()],
    ['engine_task', new TaskFailed('', 'failed')],
    ['engine_task', new WriteRejected('failed', false)],
    ['postgresql', new DatabaseError('permission denied', 1, 'error')],
    ['postgresql', withCode('ECONNRESET')],
    ['postgresql', new Error('Connection terminated unexpectedly')],
    ['postgresql', new Error('timeout exceeded when trying to connect')],
    ['postgresql', new Error('The server does not support SSL connections')],
    ['postgresql', new AggregateError([bug, withCode('ECONNREFUSED')])],
    ['postgresql', () => db.selectFrom('products').select('id').execute()],
    ['engine_refused', readKeys(meiliUrls[0])],
    ['engine_unreachable', readKeys('http://127.0.0.1:9')],
    ['engine_unreachable', readKeys(`http://127.0.0.1:${port}`)],
    ['other', new AggregateError([bug])],
    ['other', () => readFile('no such file')],
    ['other', bug],
    ['other', withCode('ERR_INVALID_ARG_TYPE')],
    ['other', withCode('EINVAL')],
    ['other', 'a text'],
  ]
  for (const [kind, failure] of rows) {
    const error =
      typeof failure === 'function' ? await failure().catch((thrown: unknown) => thrown) : failure
    t.equal(findErrorKind(error), kind, String(error))
  }
})
