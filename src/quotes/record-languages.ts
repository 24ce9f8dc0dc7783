// Records the languages and their mentions of untaxed lines in the database.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { QuoteTexts } from '../texts/en.ts'
import { languages, textsByLanguage } from '../texts/languages.ts'

type TaxReason = keyof QuoteTexts['taxReasons']

/**
 * The articles of the Spanish VAT law (Ley 37/1992) and of Directive 2006/112/EC. Missing where
 * several articles are possible, or the law has none.
 */
const articles: Record<TaxReason, { spanish?: string; european?: string }> = {
  intra_community_goods: { spanish: '25', european: '138' },
  intra_community_service: { spanish: '69', european: '44, 196' },
  export: { spanish: '21', european: '146' },
  canary_islands: { spanish: '21' },
  reverse_charge: { spanish: '84', european: '199' },
  exempt: { spanish: '20', european: '132, 135' },
  not_subject: { spanish: '69, 70' },
  small_business: { european: '284' },
}

/** Records each language with texts. Other languages stay, because quotes may use them. */
export async function recordLanguages(db: Kysely<Tables>): Promise<void> {
  const rows = languages.map((code, index) => {
    const { quotes } = textsByLanguage[code]
    return {
      code,
      place: index + 1,
      vat_label: quotes.tax,
      sales_tax_label: quotes.salesTax,
      tax_reasons: JSON.stringify(listTaxReasonTexts(quotes)),
    }
  })
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

/**
 * Returns the texts of all reasons in the language of the texts, as languages.tax_reasons in SQL
 * has them.
 */
function listTaxReasonTexts({
  taxReasons,
  law,
}: QuoteTexts): Record<string, { any: string; EU: string; ES: string }> {
  return Object.fromEntries(
    Object.entries(taxReasons).map(([code, text]) => {
      const { spanish, european } = articles[code as TaxReason]
      const inSpain = spanish && `${law.article} ${spanish} ${law.spanish}`
      const inEurope = european && `${law.article} ${european} ${law.european}`
      const cite = (...laws: (string | undefined)[]) => {
        const cited = laws.filter((law) => law !== undefined)
        return cited.length > 0 ? `${text} (${cited.join('; ')}).` : `${text}.`
      }
      return [code, { any: `${text}.`, EU: cite(inEurope), ES: cite(inSpain, inEurope) }]
    }),
  )
}
