// Writes single quotes on one connection, each in its own transaction, as a program would that
// works with quotes: new ones, accepted ones, changed amounts.
import pg from 'pg'
import { lastDay, linesPerQuote } from '../support/data/generated-quotes.ts'
import { type Random, seeded } from '../support/data/seeded-random.ts'

export const operations = ['insert', 'accept', 'amount'] as const
export type Operation = (typeof operations)[number]

/** The shares of the operations. */
export const operationShares: Record<Operation, number> = { insert: 0.5, accept: 0.3, amount: 0.2 }

/** Which quotes are written: random ones of six years, or those of the current month. */
export type Target = 'all' | 'month'

const firstDays: Record<Target, string> = { all: '2020-11-22', month: '2026-11-01' }
const currencies = ['EUR', 'USD', 'JPY']

/** Prepared once for each connection, so that a write costs as little as it can. */
const statements = {
  insert: `
    with inserted as (
      insert into quotes (number, status, country, currency, rate, issued_on, valid_until, net,
        gross)
      values ($1, 'sent', $2, $3, 1, $4::date, $4::date + 30, $5, $5) returning id
    ), lines as (
      insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
      select id, position, 'SKU-' || (id * 7 + position) % 4000, 'Written', 1, $5, $5
      from inserted, generate_series(1, ${linesPerQuote}) as position
    )
    select id from inserted`,
  accept: `
    update quotes set status = 'accepted', decided_on = issued_on + 3
    where id = $1 and status = 'sent'`,
  // Only the amounts of accepted quotes are part of the statistics.
  amount: 'update quotes set net = $2, gross = $2 + tax where id = $1',
}

export class QuoteWriter {
  readonly #client: pg.Client
  readonly #random: Random = seeded('writes')
  readonly #days: string[]
  #countries: string[] = []
  #sent: string[] = []
  #accepted: string[] = []
  #inserted = 0

  private constructor(client: pg.Client, target: Target) {
    this.#client = client
    this.#days = daysBetween(firstDays[target], lastDay)
  }

  /** Connects, and draws as many existing quotes as `writes` may need. */
  static async connect(url: string, target: Target, writes: number): Promise<QuoteWriter> {
    const client = await connectClient(url)
    const writer = new QuoteWriter(client, target)
    const countries = await client.query<{ code: string }>(
      'select code from countries order by code limit 40',
    )
    writer.#countries = countries.rows.map(({ code }) => code)
    const draw = async (status: string) => {
      const { rows } = await client.query<{ id: string }>(
        `select id from quotes where status = $1 and issued_on >= $2
         order by hashint8(id) limit $3`,
        [status, firstDays[target], writes],
      )
      return rows.map(({ id }) => id)
    }
    writer.#sent = await draw('sent')
    writer.#accepted = await draw('accepted')
    return writer
  }

  async readBackendPid(): Promise<number> {
    const { rows } = await this.#client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]?.pid ?? 0
  }

  /** Writes one quote with an operation drawn by the shares; inserts if no quote fits it. */
  async writeAny(): Promise<void> {
    const drawn = this.#random.next()
    const { insert, accept } = operationShares
    if (drawn >= insert + accept && this.#accepted.length > 0) return this.write('amount')
    if (drawn >= insert && drawn < insert + accept && this.#sent.length > 0)
      return this.write('accept')
    await this.write('insert')
  }

  /** Writes one quote. If no quote is left to accept or change, throws an error. */
  async write(operation: Operation): Promise<void> {
    if (operation === 'insert') return this.#insert()
    if (operation === 'accept') return this.#accept()
    await this.#run('amount', [this.#random.pick(this.#accepted), this.#drawAmount()])
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  async #insert(): Promise<void> {
    this.#inserted += 1
    const { rows } = await this.#run('insert', [
      `W${this.#inserted}`,
      this.#random.pick(this.#countries),
      this.#random.pick(currencies),
      this.#random.pick(this.#days),
      this.#drawAmount(),
    ])
    if (rows[0]) this.#sent.push(rows[0].id)
  }

  /** Accepts a random sent quote, whose amount may change from then on. */
  async #accept(): Promise<void> {
    const place = this.#random.below(this.#sent.length)
    const id = this.#sent[place]
    const last = this.#sent.pop()
    if (id === undefined || last === undefined) throw new Error('No sent quote is left.')
    if (place < this.#sent.length) this.#sent[place] = last
    await this.#run('accept', [id])
    this.#accepted.push(id)
  }

  /** A whole number, which is valid in every currency. */
  #drawAmount(): number {
    return 1 + this.#random.below(10_000)
  }

  #run(name: Operation, values: unknown[]): Promise<pg.QueryResult<{ id: string }>> {
    return this.#client.query<{ id: string }>({ name, text: statements[name], values })
  }
}

/** Connects without a pool: the connection must stay the same. */
export async function connectClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // If the server is stopped, the next statement throws.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

function daysBetween(first: string, last: string): string[] {
  const dayMs = 86_400_000
  const count = (Date.parse(last) - Date.parse(first)) / dayMs + 1
  return Array.from({ length: count }, (_, n) =>
    new Date(Date.parse(first) + n * dayMs).toISOString().slice(0, 10),
  )
}
