// What happens to quotes in histories: made, decided, corrected, superseded, deleted, truncated; singly and many in a statement.
import type { Quote } from '../stats/independent-model.ts'
import type { Clock } from './clock.ts'
import { quoteColumns, remove, write } from './quotes.ts'
import type { Random } from './random.ts'
import type { Change } from './subject.ts'

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

const kinds = [
  'put',
  'put',
  'put',
  'decide',
  'decide',
  'decide',
  'rate',
  'supersede',
  'supersede',
  'remove',
  'rateOfAll',
] as const

/** The changes of one transaction. */
export function drawQuoteChanges(random: Random): Change[] {
  if (random.chance(0.02))
    return [{ words: 'truncate quotes', apply: (client) => remove(client, null) }]
  if (random.chance(0.02))
    return [
      {
        words: 'rebuild the summary',
        apply: (client) => client.query('select rebuild_quote_summary()').then(() => []),
      },
    ]
  return Array.from({ length: random.chance(0.2) ? random.between(2, 4) : 1 }, () =>
    change[random.pick(kinds)](random),
  )
}

const change = {
  /** As an import does: several in one statement, new or corrected. */
  put(random: Random): Change {
    const chosen = [
      ...new Set(
        Array.from({ length: random.chance(0.3) ? random.between(2, 6) : 1 }, () =>
          random.pick(numbers),
        ),
      ),
    ]
    const drawn = chosen.map((number) => ({ number, ...drawQuote(random) }))
    return {
      words: `put ${chosen.join(' ')}`,
      apply: (client, clock) =>
        write(
          client,
          `insert into quotes (number, ${columns.join(', ')}, gross)
           select *, net from jsonb_to_recordset($1) as q (number text, status text, country text, currency text, rate numeric, issued_on date,
             valid_until date, decided_on date, net numeric)
           on conflict (number, version) do update set ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}, gross = excluded.gross
           returning ${quoteColumns}`,
          [JSON.stringify(drawn.map(({ dated, ...quote }) => ({ ...quote, ...dated(clock) })))],
        ),
    }
  },

  decide(random: Random): Change {
    const [number, status] = [
      random.pick(numbers),
      random.pick(['accepted', 'accepted', 'rejected']),
    ]
    return {
      words: `${status} ${number}`,
      apply: (client, clock) =>
        write(
          client,
          `update quotes set status = $2, decided_on = greatest(issued_on, $3::date) where number = $1 and status in ('draft', 'sent')
           returning ${quoteColumns}`,
          [number, status, day(clock, 0)],
        ),
    }
  },

  rate: (random: Random): Change => correctRate(random, `number = '${random.pick(numbers)}'`),
  rateOfAll: (random: Random): Change =>
    correctRate(random, `currency = '${random.pick(['USD', 'JPY', 'KWD'])}'`),

  supersede(random: Random): Change {
    const number = random.pick(numbers)
    return {
      words: `supersede ${number}`,
      async apply(client, clock) {
        const added = await write(
          client,
          `insert into quotes (number, version, status, country, currency, rate, issued_on, net, gross)
           select number, version + 1, 'sent', country, currency, rate, greatest(issued_on, $2::date), net * 2, gross * 2
           from quotes where number = $1 and version < 3 order by version desc limit 1
           on conflict do nothing returning ${quoteColumns}`,
          [number, day(clock, 0)],
        )
        const older = `update quotes q set status = 'superseded' where number = $1 and status <> 'superseded'
          and exists (select from quotes newer where newer.number = q.number and newer.version > q.version) returning ${quoteColumns}`
        return [...added, ...(await write(client, older, [number]))]
      },
    }
  },

  remove(random: Random): Change {
    const number = random.pick(numbers)
    return { words: `delete ${number}`, apply: (client) => remove(client, number) }
  },
}

function correctRate(random: Random, which: string): Change {
  const rate = random.chance(0.3) ? null : `${random.between(0, 3)}.${random.between(1, 9_999)}`
  return {
    words: `rate ${rate} where ${which}`,
    apply: (client) =>
      write(
        client,
        `update quotes set rate = $1 where ${which} and currency <> 'EUR' returning ${quoteColumns}`,
        [rate],
      ),
  }
}

/** A quote whose days will be near the one on which it is written. */
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
  const issued = random.between(-70, 2)
  // Many lapse within a few days, which is while the history is played.
  const valid = random.chance(0.2) ? null : Math.max(issued, random.between(-4, 6))
  const decided =
    random.chance(0.3) || !['accepted', 'rejected'].includes(status)
      ? null
      : issued + random.between(0, 30)
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
    dated: (clock: Clock) => ({
      issued_on: day(clock, issued),
      valid_until: valid === null ? null : day(clock, valid),
      decided_on: decided === null ? null : day(clock, decided),
    }),
  }
}

/** So many days after the present one. */
export const day = (clock: Clock, days: number): string => {
  const [today = ''] = clock.days(Date.now(), Date.now())
  return new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10)
}
