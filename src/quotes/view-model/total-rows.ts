// The rows of the totals: discounts, net, each tax rate and its surcharge, and gross.
// The labels are in quote-texts/ (taxAt, surchargeAt, noTax). The SQL function quote_document
// chooses the legal text about an exemption and freezes it in document.legal.

import type { Language } from '../../company/languages.ts'
import { formatMoney, formatPercent, isZero } from '../formats/number-formats.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { QuoteDocument } from '../schema.ts'

type Totals = QuoteDocument['totals']

export type TotalRow = {
  label: string
  /** A note under the label: the amount that a tax applies to, or that the quote states no tax. */
  note: string | null
  amount: string
  kind?: 'discounts' | 'gross'
}

/** Returns the rows from top to bottom. Discounts have a row only if there are any. */
export function buildTotalRows(totals: Totals, language: Language): TotalRow[] {
  const texts = quoteTexts[language]
  const discounts: TotalRow = {
    label: texts.discounts,
    note: null,
    amount: formatMoney(totals.discounts, language),
    kind: 'discounts',
  }
  const net: TotalRow = {
    label: texts.netTotal,
    note: null,
    amount: formatMoney(totals.net, language),
  }
  const gross: TotalRow = {
    label: texts.total,
    note: totals.taxes.length === 0 ? texts.noTax : null,
    amount: formatMoney(totals.gross, language),
    kind: 'gross',
  }
  const hasDiscounts = !isZero(totals.discounts.amount)
  const taxRows = totals.taxes.flatMap((tax) =>
    buildTaxRows(tax, chooseTaxLabel(totals, language), language),
  )
  return [...(hasDiscounts ? [discounts] : []), net, ...taxRows, gross]
}

/**
 * The English name of VAT in existing documents. It is compared with theirs, so it must not change
 * with quoteTexts.en.tax.
 */
const frozenVatLabel = 'VAT'

/** Returns the name of the tax in a language. */
export function chooseTaxLabel(totals: Totals, language: Language): string {
  const { taxLabel } = totals
  const own = taxLabel?.[language]
  if (own !== undefined) return own
  // Older documents name the tax only in es and en, or not at all. If the tax is VAT, its usual
  // name in this language is used, and otherwise its English name.
  const english = taxLabel?.en ?? frozenVatLabel
  return english === frozenVatLabel ? quoteTexts[language].tax : english
}

/** Returns a row for the tax, and a second row if it has an equivalence surcharge. */
function buildTaxRows(
  { rate, surchargeRate, base, amount, surchargeAmount }: Totals['taxes'][number],
  taxLabel: string,
  language: Language,
): TotalRow[] {
  const texts = quoteTexts[language]
  const onBase = texts.onBase(formatMoney(base, language))
  const taxRow = {
    label: texts.taxAt(taxLabel, formatPercent(rate, language)),
    note: onBase,
    amount: formatMoney(amount, language),
  }
  if (surchargeRate === null || surchargeAmount === null) return [taxRow]
  const surchargeRow = {
    label: texts.surchargeAt(formatPercent(surchargeRate, language)),
    note: onBase,
    amount: formatMoney(surchargeAmount, language),
  }
  return [taxRow, surchargeRow]
}
