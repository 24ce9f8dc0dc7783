// A quote in the base currency has rate 1 or none, whenever the base currency becomes known.
import { sql } from 'kysely'
import t from 'tap'
import { testDatabase } from '../support/database/test-database.ts'

const constraint = 'quotes_base_currency_has_rate_one'

t.test('a quote in the base currency has rate 1 or null, others have any rate', async (t) => {
  const { db } = await testDatabase(t)
  await sql`
    insert into quotes (number, status, currency, rate, issued_on)
    values ('A', 'sent', 'EUR', 1.000, '2026-01-01'), ('B', 'sent', 'EUR', null, '2026-01-01'),
      ('C', 'sent', 'USD', 0.9, '2026-01-01')`.execute(db)
  await t.rejects(sql`update quotes set rate = 2 where number = 'A'`.execute(db), {
    constraint,
    message: /quote A version 1 .* has the rate 2/,
  })
  await t.rejects(sql`update quotes set currency = 'EUR' where number = 'C'`.execute(db), {
    constraint,
    message: /quote C version 1 is in the base currency, EUR, and has the rate 0\.9: it must be 1/,
  })
  await sql`update quotes set currency = 'EUR', rate = 1 where number = 'C'`.execute(db)
})

t.test('a base currency is rejected while quotes in it have another rate', async (t) => {
  const { db } = await testDatabase(t)
  const company = await db.selectFrom('company').selectAll().executeTakeFirstOrThrow()
  await db.deleteFrom('company').execute()
  await sql`
    insert into quotes (number, status, currency, rate, issued_on)
    values ('A', 'sent', 'EUR', 2, '2026-01-01')`.execute(db)
  const values = { ...company, seller: JSON.stringify(company.seller) }
  const record = () => db.insertInto('company').values(values).execute()
  await t.rejects(record(), {
    constraint,
    message: '1 quotes in the base currency, EUR, have another rate than 1',
    hint: "update quotes set rate = 1 where currency = 'EUR'",
  })
  await sql`update quotes set rate = 1 where currency = 'EUR'`.execute(db)
  await record()
})
