// What the rows of a quote file may hold: the constraints of the tables quotes and quote_lines. What rows say together is checked in quote-groups.ts.
import {
  type CellCheck,
  type Checks,
  day,
  decimal,
  oneOf,
  percentage,
  positiveInteger,
  type RowRule,
  shown,
  text,
} from '../cell-checks.ts'
import { type QuoteColumn, requiredQuoteColumns } from '../column-names.ts'
import type { Codes } from '../known-codes.ts'
import { country, currency, hsCode, unit } from '../products/product-checks.ts'

const withoutDecision = ['draft', 'sent', 'expired']

export function quoteChecks(codes: Codes): Checks<QuoteColumn> {
  const { baseCurrency } = codes
  return {
    required: requiredQuoteColumns,
    cells: {
      number: text(64),
      version: positiveInteger,
      status: oneOf(['draft', 'sent', 'accepted', 'rejected', 'expired', 'superseded']),
      issued_on: (cell) =>
        inReach(cell) ?? (cell < '1970-01-01' ? `${shown(cell)} is before 1970` : undefined),
      valid_until: day,
      decided_on: inReach,
      customer_name: text(500),
      customer_tax_id: text(50),
      customer_address: text(2_000),
      customer_contact: text(500),
      country: country(codes),
      currency: currency(codes),
      rate: decimal({ wholeDigits: 12, decimals: 12, aboveZero: true }),
      incoterm: oneOf(
        ['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF'],
        'is not an Incoterms 2020 rule such as FCA',
      ),
      incoterm_place: text(200),
      delivery: text(2_000),
      payment_terms: text(2_000),
      language: oneOf(['es', 'en']),
      notes: text(10_000),
      internal_notes: text(10_000),
      position: positiveInteger,
      sku: text(100),
      description: text(10_000),
      quantity: decimal({ wholeDigits: 12, decimals: 6, aboveZero: true }),
      unit,
      unit_price: decimal({ wholeDigits: 15, decimals: 4 }),
      discount_percent: percentage,
      tax_rate: percentage,
      surcharge_rate: percentage,
      hs_code: hsCode,
      origin_country: country(codes),
    },
    rules: [
      notBeforeIssue('valid_until'),
      notBeforeIssue('decided_on'),
      {
        column: 'decided_on',
        problem: (row) =>
          row('decided_on') && withoutDecision.includes(row('status'))
            ? `is given, but the status is ${row('status')}: only accepted, rejected and superseded quotes have one`
            : undefined,
      },
      {
        column: 'rate',
        problem: (row) =>
          row('rate') && row('currency') === baseCurrency && !/^0*1(\.0*)?$/.test(row('rate'))
            ? `${shown(row('rate'))} must be 1 or empty: ${baseCurrency} is the base currency`
            : undefined,
      },
      {
        column: 'incoterm_place',
        problem: (row) =>
          row('incoterm_place') && !row('incoterm') ? 'is given without an incoterm' : undefined,
      },
      {
        column: 'surcharge_rate',
        problem: (row) =>
          row('surcharge_rate') && !row('tax_rate') ? 'is given without a tax_rate' : undefined,
      },
    ],
  }
}

/** Of what has happened: one mistyped year would stretch the figures' period over millennia. */
const inReach: CellCheck = (cell) =>
  day(cell) ?? (cell > '2099-12-31' ? `${shown(cell)} is after 2099` : undefined)

function notBeforeIssue(column: 'valid_until' | 'decided_on'): RowRule<QuoteColumn> {
  return {
    column,
    // Dates as text sort as days do.
    problem: (row) =>
      row(column) && row(column) < row('issued_on')
        ? `${shown(row(column))} is before issued_on, ${row('issued_on')}`
        : undefined,
  }
}
