// A batch of changes that fails: it ends only after its requests to the search engine, and its
// error says what has failed.
import { sql } from 'kysely'
import t from 'tap'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { findErrorKind } from '../../src/indexing/errors.ts'
import { requeueRetryPause } from '../../src/indexing/outbox.ts'
import { applyNextBatch, leaseTarget } from '../support/database/leased-target.ts'
import { hasColumn, reactToResults } from '../support/database/result-reaction.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { testService } from '../support/service/test-service.ts'

t.test('a change behind several truncations is applied', async (t) => {
  const { db, target } = await testService(t)
  const leased = await leaseTarget(target)
  for (let n = 0; n < 3; n++) await sql`truncate products cascade`.execute(db)
  await db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  t.equal(await applyNextBatch(leased), 1)
})

const disconnection = new Error('Connection terminated unexpectedly')

t.test('if the lease cannot be read after a failed batch, both errors are kept', async (t) => {
  replaceUntilEnd(t, requeueRetryPause, { ms: 1 })
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  const leased = await leaseTarget(service.target)
  const failReadOfLease = reactToResults(t, hasColumn('serverStartedAt'), (count) => {
    // The lease is read once before the batch is sent.
    if (count > 1) throw disconnection
  })
  const db = leased.db.withPlugin(failReadOfLease)
  const client = openIndexingClient(service.config.MEILI_URL, 'a key that nobody created')
  const error = await applyNextBatch({ ...leased, db, client }).catch((thrown: unknown) => thrown)
  t.ok(error instanceof AggregateError)
  const { errors } = error as AggregateError
  t.match(errors, [
    { message: /API key is invalid/ },
    disconnection,
    { message: /another indexer has taken over, 1 product may be outdated .*verify --repair/ },
  ])
  t.equal(findErrorKind(error), 'engine_refused')
})
