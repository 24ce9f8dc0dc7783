// A count of popularity that exceeds its timeout: popularity stays as it was, and changes of products
// still reach the index.
import t from 'tap'
import { popularityTimeout, refreshPopularity } from '../../../src/indexing/popularity.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { testService } from '../../support/service/test-service.ts'

t.test('a count that exceeds its timeout changes nothing', async (t) => {
  replaceUntilEnd(t, popularityTimeout, { ms: 500 })
  const service = await testService(t)
  const { db, engine, config } = service
  await db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  await addQuote(db, 'P-1')
  const readCounts = () => db.selectFrom('product_popularity').select('times_quoted').execute()
  await refreshPopularity(db)
  t.same(await readCounts(), [{ times_quoted: 1 }])

  await addQuote(db, 'P-2')
  const lock = await service.pool.connect()
  await lock.query('begin')
  await lock.query('lock table quotes in access exclusive mode')
  const counting = refreshPopularity(db).catch((error: unknown) => error)
  await db.updateTable('products').set({ name: 'Martillo nuevo' }).execute()
  await service.sync()
  const { results } = await engine.index(config.SEARCH_INDEX).getDocuments<{ name: string }>()
  t.same(
    results.map(({ name }) => name),
    ['Martillo nuevo'],
  )
  t.match(await counting, { message: 'canceling statement due to statement timeout' })
  t.same(await readCounts(), [{ times_quoted: 1 }])
  await lock.query('commit')
  lock.release()
  await refreshPopularity(db)
  t.same(await readCounts(), [{ times_quoted: 2 }])
})
