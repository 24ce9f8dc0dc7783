// A batch of changes that fails: it ends only after its requests to the search engine, and its
// error says what has failed.
import { type KyselyPlugin, type QueryResult, sql, type UnknownRow } from 'kysely'
import t from 'tap'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import type { LiveTarget } from '../../src/indexing/index-address.ts'
import { findErrorKind } from '../../src/indexing/indexer-error-kind.ts'
import { type Lease, LeaseLost, ServerReplaced } from '../../src/indexing/indexer-lease.ts'
import { timeouts } from '../../src/timeouts.ts'
import { applyBatch, leaseTarget } from '../support/database/leased-target.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { testService } from '../support/service/test-service.ts'
import { openHeldClient } from './engine/held-engine-client.ts'

t.test('changes are pending behind several truncations, which are not changes', async (t) => {
  const { db, target } = await testService(t)
  const leased = await leaseTarget(target)
  for (let n = 0; n < 3; n++) await sql`truncate products cascade`.execute(db)
  t.notOk(await leased.outbox.hasChanges())
  await db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  t.ok(await leased.outbox.hasChanges())
  t.equal(await applyBatch(leased), 1)
  t.notOk(await leased.outbox.hasChanges())
})

t.test('a batch that cannot read its last product waits for its upload', async (t) => {
  const service = await testService(t)
  const { db, target } = service
  // The first 10,000 products are uploaded while the last one is being read.
  await sql`
    insert into products (sku, name)
    select 'A-' || n, 'Tuerca ' || n from generate_series(1, 10001) n
  `.execute(db)
  const slow = await openHeldClient(service)
  const failLastRead = async ({ result }: { result: QueryResult<UnknownRow> }) => {
    const [row] = result.rows
    if (result.rows.length !== 1 || row?.hs_code === undefined) return result
    await slow.sent
    setTimeout(slow.release, 500)
    throw new Error('PostgreSQL has closed the connection.')
  }
  const failingDb = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: failLastRead,
  })
  const leased = await leaseTarget(target)
  await t.rejects(applyBatch({ ...leased, db: failingDb, client: slow.client }), {
    message: 'PostgreSQL has closed the connection.',
  })
  t.equal(slow.countOpen(), 0)
  // Ends the request before the test ends, even if the batch has not waited for it.
  await slow.released
})

const disconnection = new Error('Connection terminated unexpectedly')

/**
 * Fails every query whose result has this column, as if PostgreSQL had closed the connection, after
 * so many successes.
 */
function failQueriesOf(column: string, successes = 0): KyselyPlugin {
  let count = 0
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (result.rows.some((row) => column in row) && ++count > successes) throw disconnection
      return result
    },
  }
}

/** Applies a batch that fails because its products cannot be read. Then the lease has changed. */
async function syncUntilChange(target: LiveTarget, change: Partial<Lease>): Promise<unknown> {
  const lease = { ...target.lease }
  const changeLease: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (result.rows.some((row) => 'hs_code' in row)) Object.assign(lease, change)
      return result
    },
  }
  const db = target.db.withPlugin(changeLease).withPlugin(failQueriesOf('hs_code'))
  return applyBatch({ ...target, db, lease }).catch((thrown: unknown) => thrown)
}

t.test('if PostgreSQL was restarted during a batch, the error says so', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  const leased = await leaseTarget(service.target)
  const error = await syncUntilChange(leased, { serverStartedAt: 'before' })
  t.ok(error instanceof ServerReplaced)
  t.equal(findErrorKind(error), 'postgresql')
  t.equal((error as Error).cause, disconnection)
})

t.test('if another indexer took over during a batch, the error has a cause', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  const leased = await leaseTarget(service.target)
  const error = await syncUntilChange(leased, { fencingToken: '0' })
  t.ok(error instanceof LeaseLost)
  t.equal(findErrorKind(error), 'lease_lost')
  t.equal((error as Error).cause, disconnection)
})

t.test('if the lease cannot be read after a failed batch, both errors are kept', async (t) => {
  replaceUntilEnd(t, timeouts.indexing.requeueRetry, { ms: 1 })
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  const leased = await leaseTarget(service.target)
  // The lease is read once before the batch is sent.
  const db = leased.db.withPlugin(failQueriesOf('fencingToken', 1))
  const client = openIndexingClient(service.config.MEILI_URL, 'a key that nobody created')
  const error = await applyBatch({ ...leased, db, client }).catch((thrown: unknown) => thrown)
  t.ok(error instanceof AggregateError)
  const { errors } = error as AggregateError
  t.match(errors, [{ message: /API key is invalid/ }, disconnection])
  t.equal(findErrorKind(error), 'engine_refused')
})
