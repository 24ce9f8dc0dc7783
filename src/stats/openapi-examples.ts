// The example responses in the OpenAPI description of GET /api/stats.
import { countedStatuses, type Outcome, outcomes } from '../database/quote-statuses.ts'
import { computeAcceptance, forEach, type Group } from './figures.ts'
import type { Stats } from './schema.ts'

const eur = (amount: string) => ({ amount, currency: 'EUR' })

/** A group of quotes. Without others, the numbers and amounts are zero. */
function groupOf(
  counts: Partial<Group['byStatus']>,
  [open = '', won = '', lost = '']: string[],
  daysToDecision: Group['daysToDecision'],
): Group {
  const byStatus = forEach(countedStatuses, (status) => counts[status] ?? 0)
  const amounts: Partial<Record<Outcome, string>> = { open, won, lost }
  const money = forEach(outcomes, (outcome) => eur(amounts[outcome] ?? '0.00'))
  return {
    quotes: Object.values(byStatus).reduce((sum, count) => sum + count),
    accepted: byStatus.accepted,
    revenue: money.won,
    byStatus,
    money,
    acceptance: computeAcceptance({ byStatus, money }),
    daysToDecision,
  }
}

const {
  quotes: total,
  accepted: _,
  revenue: __,
  ...outcomesOfAll
} = groupOf(
  { draft: 2, sent: 12, accepted: 78, rejected: 24, expired: 14 },
  ['31200.00', '153273.40', '61480.50'],
  { quotes: 102, mean: '8.4', median: '6.0' },
)

/** Two months. The numbers by country, month and status add up to the total. */
export const exampleStats: Stats = {
  asOf: '2026-02-28T16:42:07Z',
  period: { from: '2026-01-01', to: '2026-02-28', timeZone: 'Europe/Madrid', date: 'issued' },
  quotes: { total, ...outcomesOfAll },
  revenue: {
    total: eur('153273.40'),
    average: eur('1990.56'),
    byCurrency: [
      { amount: '140000.00', currency: 'EUR', quotes: 70 },
      { amount: '15300.00', currency: 'USD', quotes: 7 },
      { amount: '5000', currency: 'JPY', quotes: 1 },
    ],
    unconverted: [{ amount: '5000', currency: 'JPY', quotes: 1 }],
  },
  byCountry: [
    {
      country: 'ES',
      ...groupOf(
        { draft: 2, sent: 9, accepted: 70, rejected: 18, expired: 11 },
        ['26000.00', '140000.00', '43200.50'],
        { quotes: 88, mean: '7.9', median: '6.0' },
      ),
    },
    {
      country: null,
      ...groupOf(
        { draft: 0, sent: 3, accepted: 8, rejected: 6, expired: 3 },
        ['5200.00', '13273.40', '18280.00'],
        { quotes: 14, mean: '11.6', median: '9.5' },
      ),
    },
  ],
  byMonth: [
    {
      month: '2026-01',
      partial: false,
      ...groupOf(
        { draft: 0, sent: 3, accepted: 44, rejected: 15, expired: 8 },
        ['6200.00', '80000.00', '36480.50'],
        { quotes: 59, mean: '9.0', median: '7.0' },
      ),
    },
    {
      month: '2026-02',
      partial: true,
      ...groupOf(
        { draft: 2, sent: 9, accepted: 34, rejected: 9, expired: 6 },
        ['25000.00', '73273.40', '25000.00'],
        { quotes: 43, mean: '7.6', median: '5.0' },
      ),
    },
  ],
  comparison: null,
}

export const exampleDay: NonNullable<Stats['byDay']>[number] = {
  day: '2026-02-27',
  partial: false,
  ...groupOf(
    { draft: 0, sent: 1, accepted: 1, rejected: 1, expired: 0 },
    ['640.00', '1990.00', '85.20'],
    { quotes: 2, mean: '0.5', median: '0.5' },
  ),
}

/** Shortened: the service lists `maxListedGroups` customers before there is a rest. */
export const byCustomer: Stats['byCustomer'] = {
  rows: [
    {
      customer: { id: '17', name: 'Ferretería Ruiz S.L.' },
      quotes: 12,
      accepted: 9,
      revenue: eur('48210.00'),
      unconverted: 0,
    },
    { customer: null, quotes: 4, accepted: 2, revenue: eur('6120.50'), unconverted: 0 },
  ],
  rest: { customers: 31, quotes: 34, accepted: 9, revenue: eur('4104.90'), unconverted: 1 },
}

/** Shortened: the service lists `maxListedGroups` products before there is a rest. */
export const byProduct: Stats['byProduct'] = {
  rows: [
    {
      product: { sku: 'GR-15-CR', name: 'Grifo monomando cromado 15 cm' },
      lines: 41,
      revenue: eur('30161.52'),
      unconverted: 0,
    },
    { product: { sku: 'A-7', name: null }, lines: 23, revenue: eur('12480.01'), unconverted: 1 },
  ],
  rest: { products: 212, lines: 240, revenue: eur('21199.87'), unconverted: 0 },
}
