// Records in the database the languages that have texts, with their words for taxes, so that a new
// file of texts is all that a language of quotes needs.
import { type Kysely, sql } from 'kysely'
import { languages } from '../../company/languages.ts'
import type { Tables } from '../../database/table-types.ts'
import { quoteTexts } from './quote-texts.ts'

/** Records each language with texts. Others stay, because quotes may have them. */
export async function recordLanguages(db: Kysely<Tables>): Promise<void> {
  const rows = languages.map((code, index) => ({
    code,
    place: index + 1,
    vat_label: quoteTexts[code].tax,
    sales_tax_label: quoteTexts[code].salesTax,
  }))
  await db
    .insertInto('languages')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('code').doUpdateSet({
        place: sql`excluded.place`,
        vat_label: sql`excluded.vat_label`,
        sales_tax_label: sql`excluded.sales_tax_label`,
      }),
    )
    .execute()
}
