// Which quotes can have a link, and which version a link shows.
// Numbers such as S43 are those of the attacks in docs/security.md.
import { sql } from 'kysely'
import t from 'tap'
import { generateLines, insertLinkedQuote } from '../../../scripts/bench/data/linked-quotes.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import {
  createQuoteLink,
  LinkRefusedError,
  type NewLink,
  recordLinkSettings,
} from '../../../src/quotes/links/manage-links.ts'
import type { QuoteDocument } from '../../../src/quotes/schema.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import {
  createAndReadLink,
  minimalLine,
  minimalQuote,
  writeQuote,
} from '../../support/quotes/frozen-documents.ts'

t.test('the error of a quote that cannot have a link gives the reason', async (t) => {
  const { db } = await testDatabase(t)
  await writeQuote(db, { ...minimalQuote, number: 'draft', status: 'draft' }, [minimalLine])
  await writeQuote(db, { ...minimalQuote, number: 'totals' }, [{ ...minimalLine, tax_rate: '21' }])
  await writeQuote(db, { ...minimalQuote, number: 'line' }, [minimalLine, minimalLine])
  await writeQuote(db, { ...minimalQuote, number: 'good' }, [minimalLine])
  await sql`
    update quotes set net = 11.01, tax = 2.00, gross = 13.01 where number = 'totals'`.execute(db)
  await sql`
    update quote_lines set net = quote_lines.net + case position when 1 then 1 else -1 end
    from quotes where id = quote_id and number = 'line'`.execute(db)

  const expectRejection = async (request: NewLink, message: RegExp) =>
    t.rejects(createQuoteLink(db, request), { constructor: LinkRefusedError, message })
  await expectRejection({ number: 'none' }, /^there is no quote none \(any version\)$/)
  await expectRejection({ number: 'good', version: 2 }, /^there is no quote good version 2$/)
  await expectRejection({ number: 'Good' }, /^there is no quote Good/)
  await expectRejection({ number: 'draft' }, /^quote draft version 1 is a draft: send it first$/)
  await expectRejection(
    { number: 'totals' },
    new RegExp(
      'net 11\\.01 stored, 10\\.00 computed \\(off by 1\\.01\\), ' +
        'tax 2\\.00 stored, 2\\.10 computed \\(off by -0\\.10\\)',
    ),
  )
  await expectRejection({ number: 'line' }, /line 1: net 11\.00 stored, 10\.00 computed/)
  await expectRejection({ number: 'good', expiry: new Date('2020-01-01') }, /would expire at once/)
  await expectRejection(
    { number: 'good', language: 'xx' as 'es' },
    /language must be one of es, en, pt, fr, it, de, not xx/,
  )
  await t.rejects(
    sql`select create_quote_share('good', null, sha256('x'), 'infinity')`.execute(db),
    { code: '23514' },
    'infinity is not an expiry: null means never',
  )
  t.strictSame(
    await db.selectFrom('quote_shares').selectAll().execute(),
    [],
    'none of these creates a link',
  )

  await sql`delete from company`.execute(db)
  await expectRejection({ number: 'good' }, /the company is not recorded yet/)
})

t.test(
  'without a version the newest one is shown, and a draft as newest version is rejected',
  async (t) => {
    const { db } = await testDatabase(t)
    await writeQuote(db, { ...minimalQuote, version: 2, notes: 'second' }, [minimalLine])
    await writeQuote(db, { ...minimalQuote, version: 1, status: 'superseded', notes: 'first' }, [
      minimalLine,
    ])
    const createAndReadNotes = async (request: NewLink) =>
      (JSON.parse((await createAndReadLink(db, request)).document) as QuoteDocument).notes
    t.equal(await createAndReadNotes({ number: 'P-1' }), 'second')
    t.equal(await createAndReadNotes({ number: 'P-1', version: 1 }), 'first')
    await writeQuote(db, { ...minimalQuote, version: 10, status: 'draft' }, [minimalLine])
    await t.rejects(createQuoteLink(db, { number: 'P-1' }), { message: /version 10 is a draft/ })
  },
)

const allowLines = (db: Database, maxLines: number) =>
  recordLinkSettings(db, { maxLines, retentionDays: 400 })

t.test('a quote with too many lines or too much text cannot have a link (S43)', async (t) => {
  const { db } = await testDatabase(t)
  await allowLines(db, 100)
  await insertLinkedQuote(db, 'ALLOWED', generateLines(100))
  await t.rejects(insertLinkedQuote(db, 'LONG', generateLines(101)), {
    message: /LONG version 1 has 101 lines, .* at most 100: divide it .* raise SHARE_MAX_LINES/,
  })
  await allowLines(db, 2000)
  await insertLinkedQuote(db, 'LARGEST', generateLines(2000))
  await t.rejects(insertLinkedQuote(db, 'LONGER', generateLines(2001)), { message: /2001 lines/ })
  const wordy = generateLines(500).map((line) => ({ ...line, description: 'ñ'.repeat(9_000) }))
  await t.rejects(insertLinkedQuote(db, 'WORDY', wordy), {
    message: /document of quote WORDY version 1 has 9\d{6} bytes, and at most 4000000/,
  })
})
