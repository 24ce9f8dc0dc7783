// Reads the customers or products with the highest revenue, if the request asks for them.
import type { Kysely } from 'kysely'
import type { Company } from '../../company/company-file.ts'
import { requireCurrencyDigits } from '../../company/currencies.ts'
import type { Tables } from '../../database/table-types.ts'
import type { DatedRequest, Stats } from '../schema.ts'
import {
  type BaseCurrency,
  type BreakdownRow,
  readCustomerRows,
  readProductRows,
} from './breakdown-query.ts'
import type { DateRange } from './summary-grains.ts'

type Breakdown = Pick<Stats, 'byCustomer' | 'byProduct'>
/** The summary stores these keys for quotes without a customer and lines without a SKU. */
const noCustomer = '0'
const noSku = ''

/**
 * Returns the customers or products of a range, both ends included. Returns no property without
 * `by`, and with `by=day`.
 */
export async function readBreakdown(
  db: Kysely<Tables>,
  { baseCurrency }: Company,
  request: DatedRequest,
  range: DateRange,
): Promise<Breakdown> {
  const base: BaseCurrency = { currency: baseCurrency, digits: requireCurrencyDigits(baseCurrency) }
  if (request.by === undefined) return {}
  switch (request.by) {
    case 'customer':
      return { byCustomer: toCustomers(await readCustomerRows(db, request, range, base), base) }
    case 'product':
      return { byProduct: toProducts(await readProductRows(db, request, range, base), base) }
    case 'day':
      return {}
  }
}

function toCustomers(
  all: BreakdownRow[],
  { currency }: BaseCurrency,
): NonNullable<Stats['byCustomer']> {
  const { listed, rest } = separateRest(all)
  const totalsOf = ({ counted, accepted, revenue, unconverted }: BreakdownRow) => ({
    quotes: Number(counted),
    accepted: Number(accepted),
    revenue: { amount: revenue, currency },
    unconverted: Number(unconverted),
  })
  return {
    rows: listed.map((row) => ({
      customer: row.key === noCustomer ? null : { id: row.key, name: row.name },
      ...totalsOf(row),
    })),
    rest: rest ? { customers: Number(rest.groupCount), ...totalsOf(rest) } : null,
  }
}

function toProducts(
  all: BreakdownRow[],
  { currency }: BaseCurrency,
): NonNullable<Stats['byProduct']> {
  const { listed, rest } = separateRest(all)
  const totalsOf = ({ counted, revenue, unconverted }: BreakdownRow) => ({
    lines: Number(counted),
    revenue: { amount: revenue, currency },
    unconverted: Number(unconverted),
  })
  return {
    rows: listed.map((row) => ({
      product: row.key === noSku ? null : { sku: row.key, name: row.name },
      ...totalsOf(row),
    })),
    rest: rest ? { products: Number(rest.groupCount), ...totalsOf(rest) } : null,
  }
}

/** Separates the rows of single customers or products, which have a key, from the rest. */
function separateRest(all: BreakdownRow[]) {
  return {
    listed: all.flatMap((row) => (row.key === null ? [] : [{ ...row, key: row.key }])),
    rest: all.find(({ key }) => key === null),
  }
}
