// The example responses in the OpenAPI description of GET /api/stats.
import type { Stats } from './schema.ts'

const eur = (amount: string) => ({ amount, currency: 'EUR' })

/** Two months. The numbers by country, month and status add up to the total. */
export const exampleStats: Stats = {
  asOf: '2026-02-28T16:42:07Z',
  period: { from: '2026-01-01', to: '2026-02-28', timeZone: 'Europe/Madrid', date: 'issued' },
  quotes: {
    total: 130,
    byStatus: { draft: 2, sent: 12, accepted: 78, rejected: 24, expired: 14 },
    money: { open: eur('31200.00'), won: eur('153273.40'), lost: eur('61480.50') },
    acceptance: {
      ofSent: '0.6094',
      ofDecided: '0.6724',
      ofSentValue: '0.6232',
      ofDecidedValue: '0.7137',
    },
    daysToDecision: { quotes: 102, mean: '8.4', median: '6.0' },
  },
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
      quotes: 110,
      accepted: 70,
      revenue: eur('140000.00'),
      byStatus: { draft: 2, sent: 9, accepted: 70, rejected: 18, expired: 11 },
      money: { open: eur('26000.00'), won: eur('140000.00'), lost: eur('43200.50') },
      acceptance: {
        ofSent: '0.6481',
        ofDecided: '0.7071',
        ofSentValue: '0.6692',
        ofDecidedValue: '0.7642',
      },
      daysToDecision: { quotes: 88, mean: '7.9', median: '6.0' },
    },
    {
      country: null,
      quotes: 20,
      accepted: 8,
      revenue: eur('13273.40'),
      byStatus: { draft: 0, sent: 3, accepted: 8, rejected: 6, expired: 3 },
      money: { open: eur('5200.00'), won: eur('13273.40'), lost: eur('18280.00') },
      acceptance: {
        ofSent: '0.4000',
        ofDecided: '0.4706',
        ofSentValue: '0.3611',
        ofDecidedValue: '0.4207',
      },
      daysToDecision: { quotes: 14, mean: '11.6', median: '9.5' },
    },
  ],
  byMonth: [
    {
      month: '2026-01',
      partial: false,
      quotes: 70,
      accepted: 44,
      revenue: eur('80000.00'),
      byStatus: { draft: 0, sent: 3, accepted: 44, rejected: 15, expired: 8 },
      money: { open: eur('6200.00'), won: eur('80000.00'), lost: eur('36480.50') },
      acceptance: {
        ofSent: '0.6286',
        ofDecided: '0.6567',
        ofSentValue: '0.6521',
        ofDecidedValue: '0.6868',
      },
      daysToDecision: { quotes: 59, mean: '9.0', median: '7.0' },
    },
    {
      month: '2026-02',
      partial: true,
      quotes: 60,
      accepted: 34,
      revenue: eur('73273.40'),
      byStatus: { draft: 2, sent: 9, accepted: 34, rejected: 9, expired: 6 },
      money: { open: eur('25000.00'), won: eur('73273.40'), lost: eur('25000.00') },
      acceptance: {
        ofSent: '0.5862',
        ofDecided: '0.6939',
        ofSentValue: '0.5944',
        ofDecidedValue: '0.7456',
      },
      daysToDecision: { quotes: 43, mean: '7.6', median: '5.0' },
    },
  ],
  comparison: null,
}

export const exampleDay: NonNullable<Stats['byDay']>[number] = {
  day: '2026-02-27',
  partial: false,
  quotes: 3,
  accepted: 1,
  revenue: eur('1990.00'),
  byStatus: { draft: 0, sent: 1, accepted: 1, rejected: 1, expired: 0 },
  money: { open: eur('640.00'), won: eur('1990.00'), lost: eur('85.20') },
  acceptance: {
    ofSent: '0.3333',
    ofDecided: '0.5000',
    ofSentValue: '0.7329',
    ofDecidedValue: '0.9589',
  },
  daysToDecision: { quotes: 2, mean: '0.5', median: '0.5' },
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
