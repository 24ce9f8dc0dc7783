// A batch of changes that fails: it ends only after its requests to the search engine.
import { type QueryResult, sql, type UnknownRow } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t from 'tap'
import { syncBatch } from '../../src/indexing/change-sync.ts'
import { leaseTarget } from '../support/leased-target.ts'
import { servers } from '../support/test-database.ts'
import { testService } from '../support/test-service.ts'

t.test('a batch that cannot read its last product waits for its upload', async (t) => {
  const { db, target, config } = await testService(t)
  const { meiliMasterKey } = await servers()
  // The first 10,000 products are uploaded while the last one is being read.
  await sql`
    insert into products (sku, name)
    select 'A-' || n, 'Tuerca ' || n from generate_series(1, 10001) n
  `.execute(db)
  const sent = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let openRequests = 0
  const heldFetch = async (input: string | URL | Request, init?: RequestInit) => {
    openRequests++
    sent.resolve()
    try {
      await gate.promise
      return (await (await fetch(input, init)).json()) as unknown
    } finally {
      openRequests--
    }
  }
  const slowClient = new Meilisearch({
    host: config.MEILI_URL,
    apiKey: meiliMasterKey,
    httpClient: heldFetch as never,
  })
  const failLastRead = async ({ result }: { result: QueryResult<UnknownRow> }) => {
    const [row] = result.rows
    if (result.rows.length !== 1 || row?.hs_code === undefined) return result
    await sent.promise
    setTimeout(gate.resolve, 500)
    throw new Error('PostgreSQL has closed the connection.')
  }
  const failingDb = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: failLastRead,
  })
  const leased = await leaseTarget(target)
  await t.rejects(syncBatch({ ...leased, db: failingDb, client: slowClient }), {
    message: 'PostgreSQL has closed the connection.',
  })
  t.equal(openRequests, 0)
  // Ends the request before the test ends, even if the batch has not waited for it.
  await gate.promise
})
