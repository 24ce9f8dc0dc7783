// The changes of the stats workload: quotes are upserted, decided, corrected, deleted, and get new
// versions, which supersede the older ones. One or many change in a statement.
import type { Quote } from '../../stats/quote-builder.ts'
import type { Clock } from '../fast-clock.ts'
import type { Random } from '../seeded-random.ts'
import { deleteQuotes, writeQuotes } from './quote-rows.ts'
import type { Change } from './workload.ts'

const numbers = Array.from({ length: 16 }, (_, n) => `Q-${1 + n}`) as [string, ...string[]]
const digits = { EUR: 2, USD: 2, JPY: 0, KWD: 3 }
const columns = [
  'status',
  'country',
  'currency',
  'rate',
  'issued_on',
  'valid_until',
  'decided_on',
  'net',
] as const

const changeKinds = [
  'upsert',
  'upsert',
  'upsert',
  'decide',
  'decide',
  'decide',
  'correctRate',
  'addVersion',
  'addVersion',
  'delete',
  'correctRates',
] as const

/** The changes of one transaction. */
export function drawQuoteChanges(random: Random): Change[] {
  if (random.chance(0.02))
    return [{ description: 'truncate quotes', apply: (client) => deleteQuotes(client, null) }]
  if (random.chance(0.02))
    return [
      {
        description: 'rebuild the summary',
        apply: (client) => client.query('select rebuild_summary()').then(() => []),
      },
    ]
  return Array.from({ length: random.chance(0.2) ? random.between(2, 4) : 1 }, () =>
    changes[random.pick(changeKinds)](random),
  )
}

const changes = {
  /** Inserts or updates several quotes in one statement, as an import does. */
  upsert(random: Random): Change {
    const chosen = [
      ...new Set(
        Array.from({ length: random.chance(0.3) ? random.between(2, 6) : 1 }, () =>
          random.pick(numbers),
        ),
      ),
    ]
    const drawn = chosen.map((number) => ({ number, ...drawQuote(random) }))
    return {
      description: `upsert ${chosen.join(' ')}`,
      apply: (client, clock) =>
        writeQuotes(
          client,
          `insert into quotes (number, ${columns.join(', ')}, gross)
           select *, net
           from jsonb_to_recordset($1) as q (number text, status text, country text,
             currency text, rate numeric, issued_on date, valid_until date, decided_on date,
             net numeric)
           on conflict (number, version) do update
           set ${columns.map((name) => `${name} = excluded.${name}`).join(', ')},
             gross = excluded.gross
           returning number`,
          [JSON.stringify(drawn.map(({ datesOn, ...quote }) => ({ ...quote, ...datesOn(clock) })))],
        ),
    }
  },

  decide(random: Random): Change {
    const [number, status] = [
      random.pick(numbers),
      random.pick(['accepted', 'accepted', 'rejected']),
    ]
    return {
      description: `set ${number} to ${status}`,
      apply: (client, clock) =>
        writeQuotes(
          client,
          `update quotes set status = $2, decided_on = greatest(issued_on, $3::date)
           where number = $1 and status in ('draft', 'sent')
           returning number`,
          [number, status, day(clock, 0)],
        ),
    }
  },

  correctRate: (random: Random): Change =>
    correctRatesWhere(random, `number = '${random.pick(numbers)}'`),
  correctRates: (random: Random): Change =>
    correctRatesWhere(random, `currency = '${random.pick(['USD', 'JPY', 'KWD'])}'`),

  addVersion(random: Random): Change {
    const [number, status] = [random.pick(numbers), random.pick(['draft', 'sent', 'accepted'])]
    return {
      description: `add a version of ${number}: ${status}`,
      apply: (client, clock) =>
        writeQuotes(
          client,
          `insert into quotes (number, version, status, country, currency, rate, issued_on, net,
             gross)
           select number, version + 1, $3, country, currency, rate, greatest(issued_on, $2::date),
             net * 2, gross * 2
           from quotes where number = $1 and version < 3
           order by version desc limit 1
           on conflict (number, version) do nothing returning number`,
          [number, day(clock, 0), status],
        ),
    }
  },

  delete(random: Random): Change {
    const number = random.pick(numbers)
    return { description: `delete ${number}`, apply: (client) => deleteQuotes(client, number) }
  },
}

function correctRatesWhere(random: Random, condition: string): Change {
  const rate = random.chance(0.3) ? null : `${random.between(0, 3)}.${random.between(1, 9_999)}`
  return {
    description: `set rate ${rate} where ${condition}`,
    apply: (client) =>
      writeQuotes(
        client,
        `update quotes set rate = $1 where ${condition} and currency <> 'EUR'
         returning number`,
        [rate],
      ),
  }
}

/** Draws a quote whose dates are relative to the day on which it is written. */
function drawQuote(random: Random) {
  const currency = random.pick(['EUR', 'EUR', 'USD', 'JPY', 'KWD'] as const)
  const status = random.pick<Quote['status']>([
    'draft',
    'sent',
    'sent',
    'sent',
    'accepted',
    'accepted',
    'rejected',
    'expired',
    'superseded',
  ])
  const issuedIn = random.between(-70, 2)
  // Many expire within a few days, while the history runs.
  const validUntil = random.chance(0.2) ? null : Math.max(issuedIn, random.between(-4, 6))
  const decidedIn =
    random.chance(0.3) || !['accepted', 'rejected'].includes(status)
      ? null
      : issuedIn + random.between(0, 30)
  const units = String(
    random.chance(0.1)
      ? 9_007_199_254_740_993n * BigInt(random.between(1, 99))
      : random.between(0, 10_000_000),
  )
  const decimals = digits[currency]
  const padded = units.padStart(decimals + 1, '0')
  return {
    status,
    country: random.pick([null, 'ES', 'ES', 'FR', 'US']),
    currency,
    rate:
      currency === 'EUR'
        ? '1'
        : random.chance(0.2)
          ? null
          : `${random.between(0, 3)}.${random.between(1, 9_999)}`,
    net: decimals === 0 ? padded : `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`,
    datesOn: (clock: Clock) => ({
      issued_on: day(clock, issuedIn),
      valid_until: validUntil === null ? null : day(clock, validUntil),
      decided_on: decidedIn === null ? null : day(clock, decidedIn),
    }),
  }
}

/** The day that is `days` after today, as YYYY-MM-DD. */
export const day = (clock: Clock, days: number): string => {
  const [today = ''] = clock.days(Date.now(), Date.now())
  return new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10)
}
