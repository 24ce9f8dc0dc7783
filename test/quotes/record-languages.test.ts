// The languages in the database: those with texts, and others.
import { sql } from 'kysely'
import t from 'tap'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { recordLanguages } from '../../src/quotes/record-languages.ts'
import { languages } from '../../src/texts/languages.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { testDatabase } from '../support/database/test-database.ts'

t.test('a row in languages is enough for quotes in another language', async (t) => {
  const { db } = await testDatabase(t)
  await t.rejects(addQuote(db, 'R-nl', { language: 'nl' }), /quotes_language_fkey/)
  await recordLanguages(db)
  t.same(
    (await sql<{ languages: string[] }>`select quote_languages() as languages`.execute(db)).rows,
    [{ languages }],
  )
  await db
    .insertInto('languages')
    .values({ code: 'nl', place: 99, vat_label: 'btw', sales_tax_label: 'belasting' })
    .execute()
  await addQuote(db, 'R-nl', { language: 'nl' })
  await createQuoteLink(db, { number: 'R-nl' })
  const { rows } = await sql<{ document: string }>`
    select document from quote_shares order by id desc limit 1`.execute(db)
  t.match(JSON.parse(rows[0]?.document ?? ''), {
    language: 'nl',
    totals: { taxLabel: { nl: 'btw', fr: 'TVA' } },
  })
})
