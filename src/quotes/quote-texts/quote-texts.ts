// The texts of a quote by language.

import { type Kysely, sql } from 'kysely'
import { type Language, languages } from '../../company/languages.ts'
import type { Tables } from '../../database/table-types.ts'
import { de } from './quote-texts-de.ts'
import { en, type QuoteTexts } from './quote-texts-en.ts'
import { es } from './quote-texts-es.ts'
import { fr } from './quote-texts-fr.ts'
import { it } from './quote-texts-it.ts'
import { pt } from './quote-texts-pt.ts'
import { listTaxReasonTexts } from './tax-reasons.ts'

export const quoteTexts: Record<Language, QuoteTexts> = { es, en, pt, fr, it, de }

/** Records each language with texts. Other languages stay, because quotes may use them. */
export async function recordLanguages(db: Kysely<Tables>): Promise<void> {
  const rows = languages.map((code, index) => ({
    code,
    place: index + 1,
    vat_label: quoteTexts[code].tax,
    sales_tax_label: quoteTexts[code].salesTax,
    tax_reasons: JSON.stringify(listTaxReasonTexts(quoteTexts[code])),
  }))
  await db
    .insertInto('languages')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('code').doUpdateSet({
        place: sql`excluded.place`,
        vat_label: sql`excluded.vat_label`,
        sales_tax_label: sql`excluded.sales_tax_label`,
        tax_reasons: sql`excluded.tax_reasons`,
      }),
    )
    .execute()
}
