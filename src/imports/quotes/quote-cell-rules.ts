// The rules for the cells of a quote file. They mirror the constraints of quotes and quote_lines.
// The rules between rows of one quote are in quote-row-consistency.ts.
import { languages } from '../../texts/languages.ts'
import {
  checkCountry,
  checkCurrency,
  checkDay,
  checkDayOfIssue,
  checkDayUntil2099,
  checkDecimal,
  checkHsCode,
  checkIncoterm,
  checkLength,
  checkOneOf,
  checkPercentage,
  checkPositiveInteger,
  checkSku,
  checkUnit,
  type KnownCodes,
  quoteForMessage,
} from '../cells/cell-checks.ts'
import {
  createFormatReaders,
  readCode,
  readLowerCase,
  readSingleBlanks,
  readStatus,
  readUnit,
} from '../cells/cell-readers.ts'
import type { CrossCellRule, RowRules } from '../cells/row-rules.ts'
import {
  type FileFormat,
  type QuoteColumn,
  quoteFileColumns,
  requiredQuoteColumns,
} from '../file-format.ts'

const statusesWithoutDecision = ['draft', 'sent', 'expired']

export const checkStatus = checkOneOf([
  'draft',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'superseded',
])

export function createQuoteRowRules(codes: KnownCodes, format: FileFormat): RowRules<QuoteColumn> {
  return {
    nonEmpty: requiredQuoteColumns,
    readers: {
      ...createFormatReaders(quoteFileColumns, format),
      status: readStatus,
      language: readLowerCase,
      customer_name: readSingleBlanks,
      customer_tax_id: readSingleBlanks,
      customer_contact: readSingleBlanks,
      country: readCode,
      currency: readCode,
      incoterm: readCode,
      unit: readUnit,
      origin_country: readCode,
    },
    cells: {
      number: checkLength(64),
      version: checkPositiveInteger,
      status: checkStatus,
      issued_on: checkDayOfIssue,
      valid_until: checkDay,
      decided_on: checkDayUntil2099,
      customer_name: checkLength(500),
      customer_tax_id: checkLength(50),
      customer_address: checkLength(2_000),
      customer_contact: checkLength(500),
      country: checkCountry(codes),
      currency: checkCurrency(codes),
      rate: checkDecimal({ wholeDigits: 12, decimals: 12, sign: 'aboveZero' }),
      incoterm: checkIncoterm,
      incoterm_place: checkLength(200),
      delivery: checkLength(2_000),
      payment_terms: checkLength(2_000),
      language: checkOneOf(languages),
      tax_label: checkLength(20),
      default_tax_reason: checkTaxReason,
      notes: checkLength(10_000),
      internal_notes: checkLength(10_000),
      position: checkPositiveInteger,
      sku: checkSku,
      description: checkLength(10_000),
      quantity: checkDecimal({ wholeDigits: 12, decimals: 6, sign: 'notZero' }),
      unit: checkUnit,
      unit_price: checkDecimal({ wholeDigits: 15, decimals: 8, sign: 'any' }),
      discount_percent: checkPercentage,
      tax_rate: checkPercentage,
      surcharge_rate: checkPercentage,
      tax_reason: checkTaxReason,
      hs_code: checkHsCode,
      origin_country: checkCountry(codes),
    },
    crossCellRules: [
      notBeforeIssue('valid_until'),
      notBeforeIssue('decided_on'),
      decisionHasStatus,
      baseCurrencyHasRateOne(codes.baseCurrency),
      dependsOn('incoterm_place', 'incoterm', 'is given without an incoterm'),
      hasNoTax,
      dependsOn('surcharge_rate', 'tax_rate', 'is given without a tax_rate'),
    ],
  }
}

function notBeforeIssue(column: 'valid_until' | 'decided_on'): CrossCellRule<QuoteColumn> {
  return {
    columns: [column, 'issued_on'],
    // ISO dates sort as text.
    findProblem: (date: string, issuedOn: string) =>
      date && date < issuedOn
        ? `${quoteForMessage(date)} is before issued_on, ${issuedOn}`
        : undefined,
  }
}

/** As is_tax_reason() in SQL. */
const taxReasons = [
  'intra_community_goods',
  'intra_community_service',
  'export',
  'canary_islands',
  'reverse_charge',
  'exempt',
  'not_subject',
  'small_business',
]

function checkTaxReason(cell: string): string | undefined {
  if (taxReasons.includes(cell)) return undefined
  if (!/\S\s+\S/.test(cell))
    return `${quoteForMessage(cell)} is neither a sentence nor one of ${taxReasons.join(', ')}`
  return checkLength(500)(cell)
}

const hasNoTax: CrossCellRule<QuoteColumn> = {
  columns: ['tax_reason', 'tax_rate'],
  findProblem: (reason: string, rate: string) =>
    reason && /[1-9]/.test(rate) ? `is given, but the tax_rate is ${rate}` : undefined,
}

export const decisionHasStatus: CrossCellRule<'decided_on' | 'status'> = {
  columns: ['decided_on', 'status'],
  findProblem: (decidedOn: string, status: string) =>
    decidedOn && statusesWithoutDecision.includes(status)
      ? `is given, but the status is ${status}: ` +
        'only accepted, rejected and superseded quotes have one'
      : undefined,
}

function baseCurrencyHasRateOne(baseCurrency: string): CrossCellRule<QuoteColumn> {
  const isOne = (rate: string) => /^0*1(\.0*)?$/.test(rate)
  return {
    columns: ['rate', 'currency'],
    findProblem: (rate: string, currency: string) =>
      rate && currency === baseCurrency && !isOne(rate)
        ? `${quoteForMessage(rate)} must be 1 or empty: ` + `${baseCurrency} is the base currency`
        : undefined,
  }
}

function dependsOn(
  column: QuoteColumn,
  requiredColumn: QuoteColumn,
  problem: string,
): CrossCellRule<QuoteColumn> {
  return {
    columns: [column, requiredColumn],
    findProblem: (cell: string, required: string) => (cell && !required ? problem : undefined),
  }
}
