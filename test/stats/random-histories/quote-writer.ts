// A connection that writes its own quotes in transactions, and remembers what it wrote.
import type { PoolClient } from 'pg'
import type { Quote } from '../quote-builder.ts'
import type { End, Write } from './random-steps.ts'

export type Quotes = Map<string, Quote>

const columns = [
  ...['status', 'country', 'currency', 'rate', 'issued_on', 'valid_until', 'decided_on', 'net'],
  'customer_id',
]
const rows = `jsonb_to_recordset($1) as r (
  number text, status text, country text, currency text, rate numeric, issued_on date,
  valid_until date, decided_on date, net numeric, customer_id bigint
)`
const assignments = [...columns.map((column) => `${column} = r.${column}`), 'gross = r.net'].join()
const columnList = `number, ${columns.join(', ')}, gross`
const values = `r.number, ${columns.map((column) => `r.${column}`).join(', ')}, r.net`

const insert = `insert into quotes (${columnList}) select ${values} from ${rows}`
const update = `update quotes q set ${assignments} from ${rows} where q.number = r.number`
const remove = `delete from quotes using ${rows} where quotes.number = r.number`
const merge = `merge into quotes q using ${rows} on q.number = r.number
  when matched and r.status is null then delete
  when matched then update set ${assignments}
  when not matched then insert (${columnList}) values (${values})`
/** Inserts, updates and deletes lines of the quotes $2, so that they have the lines $1. */
const mergeLines = `merge into quote_lines l using (
    select q.id, r.* from quotes q join jsonb_to_recordset($1)
      as r (number text, position integer, sku text, net numeric) on r.number = q.number
  ) r on l.quote_id = r.id and l.position = r.position
  when matched then update set sku = r.sku, net = r.net
  when not matched then
    insert (quote_id, position, sku, description, quantity, unit_price, net)
    values (r.id, r.position, r.sku, 'Anything', 1, 1, r.net)
  when not matched by source
    and l.quote_id in (select id from quotes where number = any ($2)) then delete`

export class QuoteWriter {
  readonly #client: PoolClient
  readonly #prefix: string
  /** The uncommitted changes by quote number; null is a deleted quote. */
  readonly #changes = new Map<string, Quote | null>()
  #isOpen = false
  #added = 0

  /** The numbers of its quotes begin with `prefix`. */
  constructor(client: PoolClient, prefix: string) {
    this.#client = client
    this.#prefix = prefix
  }

  /** Executes a statement of its own. Begins a transaction if none is open. */
  async query(text: string, parameters: unknown[] = []): Promise<void> {
    if (!this.#isOpen) await this.#client.query("begin; set local statement_timeout = '20s'")
    this.#isOpen = true
    await this.#client.query(text, parameters)
  }

  /** Ends the transaction and returns the committed quotes. */
  async end(end: End, committed: Quotes): Promise<Quotes> {
    if (this.#isOpen) await this.#client.query(end)
    this.#isOpen = false
    const quotes = end === 'commit' ? this.visible(committed) : committed
    this.#changes.clear()
    return quotes
  }

  /** The quotes that its open transaction sees. */
  visible(committed: Quotes): Quotes {
    const quotes = new Map(committed)
    for (const [number, quote] of this.#changes) {
      if (quote) quotes.set(number, quote)
      else quotes.delete(number)
    }
    return quotes
  }

  async truncate(table: 'quotes' | 'quote_lines', committed: Quotes): Promise<void> {
    await this.query(`truncate ${table} cascade`)
    for (const quote of this.visible(committed).values())
      this.#changes.set(quote.number, table === 'quotes' ? null : { ...quote, lines: [] })
  }

  async write(write: Write, committed: Quotes): Promise<void> {
    const own = [...this.visible(committed).values()].filter(({ number }) =>
      number.startsWith(this.#prefix),
    )
    const added = write.added.map((quote) => ({
      ...quote,
      number: `${this.#prefix}${++this.#added}`,
    }))
    const deleted = new Map<string, Pick<Quote, 'number'>>()
    const updated = new Map<string, Quote>()
    const changed = new Map<string, Quote>()
    if (own.length > 0) {
      const ownAt = (index: number) => own[index % own.length] as Quote
      for (const index of write.deleted) deleted.set(ownAt(index).number, ownAt(index))
      for (const { index, quote, lines } of write.changed) {
        const { number } = ownAt(index)
        if (deleted.has(number) || changed.has(number)) continue
        changed.set(number, { ...(quote ?? ownAt(index)), number, lines })
        if (quote) updated.set(number, { ...quote, number })
      }
    }
    if (write.isLinesFirst) await this.#setLines([...changed.values()])
    const rowsOf = (...quotes: object[]) => [JSON.stringify(quotes)]
    const numbers = [...deleted.keys()].map((number) => ({ number }))
    if (write.isMerge) await this.query(merge, rowsOf(...added, ...updated.values(), ...numbers))
    else {
      await this.query(insert, rowsOf(...added))
      await this.query(update, rowsOf(...updated.values()))
      await this.query(remove, rowsOf(...numbers))
    }
    // Nothing cascades while changes are applied as by a worker of logical replication.
    await this.query(
      'delete from quote_lines l where not exists (select from quotes q where q.id = l.quote_id)',
    )
    for (const { number } of numbers) this.#changes.set(number, null)
    await this.#setLines([...added, ...(write.isLinesFirst ? [] : changed.values())])
  }

  async #setLines(quotes: Quote[]): Promise<void> {
    const lines = quotes.flatMap(({ number, lines = [] }) =>
      lines.map((line, index) => ({ ...line, number, position: index + 1 })),
    )
    await this.query(mergeLines, [JSON.stringify(lines), quotes.map(({ number }) => number)])
    for (const quote of quotes) this.#changes.set(quote.number, quote)
  }
}
