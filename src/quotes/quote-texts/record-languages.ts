// Records in the database which languages have texts, and their words for taxes. A new language of
// quotes therefore needs no migration. docs/architecture.md lists what it needs.
import { type Kysely, sql } from 'kysely'
import { languages } from '../../company/languages.ts'
import type { Tables } from '../../database/table-types.ts'
import { quoteTexts } from './quote-texts.ts'

/** Records each language with texts. Other languages stay, because quotes may use them. */
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
