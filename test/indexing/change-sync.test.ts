// A batch of changes that fails: it ends only after its requests to the search engine.
import { type QueryResult, sql, type UnknownRow } from 'kysely'
import t from 'tap'
import { syncBatch } from '../../src/indexing/change-sync.ts'
import { leaseTarget } from '../support/leased-target.ts'
import { testService } from '../support/test-service.ts'
import { openHeldClient } from './held-engine-client.ts'

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
  await t.rejects(syncBatch({ ...leased, db: failingDb, client: slow.client }), {
    message: 'PostgreSQL has closed the connection.',
  })
  t.equal(slow.countOpen(), 0)
  // Ends the request before the test ends, even if the batch has not waited for it.
  await slow.released
})
