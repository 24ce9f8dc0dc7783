// What kind of error the indexer counts: what has failed, or a bug.
import { readFile } from 'node:fs/promises'
import { MeilisearchApiError, MeilisearchError } from 'meilisearch'
import { DatabaseError } from 'pg'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient, TaskFailed } from '../../src/indexing/engine.ts'
import { findErrorKind } from '../../src/indexing/errors.ts'
import { LeaseLost, ServerReplaced } from '../../src/indexing/lease.ts'
import { WriteRejected } from '../../src/indexing/upload.ts'
import { servers } from '../support/database/test-database.ts'

const withCode = (code: string) => Object.assign(new Error('failed'), { code })

/** Returns the error with which the work fails. */
async function catchError(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

t.test('errors of the lease and of tasks have kinds of their own', async (t) => {
  t.equal(findErrorKind(new LeaseLost()), 'lease_lost')
  t.equal(findErrorKind(new ServerReplaced()), 'postgresql')
  t.equal(findErrorKind(new TaskFailed(1, '', 'failed')), 'engine_task')
  t.equal(findErrorKind(new WriteRejected('failed', false)), 'engine_task')
})

t.test('errors of PostgreSQL and of its connections are recognised', async (t) => {
  t.equal(findErrorKind(new DatabaseError('permission denied', 1, 'error')), 'postgresql')
  t.equal(findErrorKind(withCode('ECONNRESET')), 'postgresql')
  for (const message of [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'The server does not support SSL connections',
  ])
    t.equal(findErrorKind(new Error(message)), 'postgresql', message)
  const unreachable = openDatabase('postgres://nobody@127.0.0.1:9/none')
  t.teardown(() => unreachable.destroy())
  const error = await catchError(unreachable.selectFrom('products').select('id').execute())
  t.equal(findErrorKind(error), 'postgresql')
})

t.test('of several errors the first known kind counts', async (t) => {
  const bug = new TypeError('x is not a function')
  t.equal(findErrorKind(new AggregateError([bug, withCode('ECONNREFUSED')])), 'postgresql')
  t.equal(findErrorKind(new AggregateError([bug])), 'other')
})

t.test('any other error is a bug', async (t) => {
  t.equal(findErrorKind(await catchError(readFile('no such file'))), 'other')
  t.equal(findErrorKind(new TypeError("Cannot read properties of 'connection'")), 'other')
  t.equal(findErrorKind(withCode('ERR_INVALID_ARG_TYPE')), 'other')
  t.equal(findErrorKind(withCode('EINVAL')), 'other')
  t.equal(findErrorKind('a text'), 'other')
})

t.test('an unknown key counts as refused, and no answer as unreachable', async (t) => {
  const { meiliUrls } = await servers()
  const [url = ''] = meiliUrls
  const refused = await catchError(openIndexingClient(url, 'unknown').getKeys())
  t.ok(refused instanceof MeilisearchApiError)
  t.equal(findErrorKind(refused), 'engine_refused')
  const unreachable = await catchError(openIndexingClient('http://127.0.0.1:9', 'x').getKeys())
  t.ok(unreachable instanceof MeilisearchError)
  t.equal(findErrorKind(unreachable), 'engine_unreachable')
})
