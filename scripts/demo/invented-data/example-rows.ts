// The invented part of the demo data: converts the example products and quotes to rows of the
// product and quote imports.
import { addDays } from '../../../src/company/calendar.ts'
import type { ProductRow, QuoteRow } from '../csv-rows.ts'
import { customers } from './example-customers.ts'
import { catalogue } from './example-products.ts'
import { type ExampleLine, type ExampleQuote, quotes } from './example-quotes.ts'

/** The quote whose link the demo prints: sent, still valid, with taxes, discounts and terms. */
export const linkedQuoteNumber = 'EJ-014'

/** All products of the example quotes, with EUR prices. */
export function exampleProducts(): ProductRow[] {
  return catalogue.map(({ hsCode, originCountry, iva: _, ...product }) => {
    return {
      ...product,
      currency: 'EUR',
      hs_code: hsCode,
      origin_country: originCountry,
      active: 'true',
    }
  })
}

/**
 * The lines of the example quotes, dated around `today` (YYYY-MM-DD). An older version has the
 * status in which it was sent; importing the newer one supersedes it.
 */
export function exampleQuotes(today: string): QuoteRow[] {
  return quotes.flatMap((quote) => quoteRows(quote, today))
}

function quoteRows(quote: ExampleQuote, today: string): QuoteRow[] {
  const [issued, valid, decided] = quote.days
  const day = (offset: number | undefined) => (offset === undefined ? '' : addDays(today, offset))
  const customer = customers[quote.customer]
  return quote.lines.map((line, index) => ({
    number: quote.number,
    version: quote.version ?? '1',
    status: quote.status,
    issued_on: day(issued),
    valid_until: day(valid),
    decided_on: day(decided),
    customer_name: customer.name,
    customer_tax_id: customer.taxId,
    customer_address: customer.address,
    customer_contact: customer.contact,
    country: customer.country,
    currency: quote.currency,
    rate: quote.rate ?? '',
    incoterm: quote.incoterm?.[0] ?? '',
    incoterm_place: quote.incoterm?.[1] ?? '',
    delivery: quote.delivery ?? '',
    payment_terms: quote.payment ?? '',
    language: quote.language,
    tax_label: '',
    default_tax_reason: '',
    notes: quote.notes,
    internal_notes: quote.internal ?? '',
    position: String(index + 1),
    discount_percent: line.discount ?? '',
    ...('sku' in line ? goodsFields(line, quote) : serviceFields(line, quote)),
  }))
}

type LineFields = Pick<
  QuoteRow,
  | 'sku'
  | 'description'
  | 'quantity'
  | 'unit'
  | 'unit_price'
  | 'tax_rate'
  | 'surcharge_rate'
  | 'tax_reason'
  | 'hs_code'
  | 'origin_country'
>

/**
 * The surcharge for retailers (recargo de equivalencia) by IVA rate, article 161 of Ley 37/1992. It
 * applies to goods, not to services.
 */
const recargo = { '21': '5.2', '10': '1.4', '4': '0.5' } as const

function goodsFields(
  line: Extract<ExampleLine, { sku: string }>,
  { number, currency, taxation }: ExampleQuote,
): LineFields {
  const product = catalogue.find(({ sku }) => sku === line.sku)
  if (!product) throw new Error(`Example quote ${number}: ${line.sku} is not in the catalogue`)
  const price = line.price ?? (currency === 'EUR' ? product.price : undefined)
  if (price === undefined)
    throw new Error(`Example quote ${number}: ${line.sku} needs a price in ${currency}`)
  return {
    sku: product.sku,
    description: product.name,
    quantity: line.quantity,
    unit: product.unit,
    unit_price: price,
    tax_rate: taxRate(taxation, product.iva),
    surcharge_rate: taxation === 'recargo' ? recargo[product.iva] : '',
    tax_reason: '',
    hs_code: product.hsCode,
    origin_country: product.originCountry,
  }
}

function serviceFields(
  line: Extract<ExampleLine, { service: string }>,
  { taxation }: ExampleQuote,
): LineFields {
  return {
    sku: '',
    description: line.service,
    quantity: line.quantity,
    unit: line.unit,
    unit_price: line.price,
    tax_rate: taxRate(taxation, '21'),
    surcharge_rate: '',
    tax_reason: taxation === 'exempt' ? 'not_subject' : '',
    hs_code: '',
    origin_country: '',
  }
}

function taxRate(taxation: ExampleQuote['taxation'], iva: string): string {
  if (taxation === 'exempt') return '0'
  return taxation === 'uk' ? '20' : iva
}
