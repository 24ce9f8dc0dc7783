// A connection that writes its own quotes in transactions, and remembers what it wrote.
import type { PoolClient } from 'pg'
import type { Quote } from '../quote-builder.ts'
import type { End, NewQuote, Write } from './random-steps.ts'

export type Quotes = Map<string, Quote>
/** The uncommitted changes of a transaction by quote number; null is a deleted quote. */
type Changes = Map<string, Quote | null>

/** How many quotes a statement with many quotes inserts. */
const many = 200

const columns = [
  'status',
  'country',
  'currency',
  'rate',
  'issued_on',
  'valid_until',
  'decided_on',
  'net',
  'customer_id',
] as const
const rows = `jsonb_to_recordset($1) as r (
  number text, status text, country text, currency text, rate numeric, issued_on date,
  valid_until date, decided_on date, net numeric, customer_id bigint
)`
const assignments = [...columns.map((column) => `${column} = r.${column}`), 'gross = r.net'].join()
const columnList = `number, ${columns.join(', ')}, gross`
const values = `r.number, ${columns.map((column) => `r.${column}`).join(', ')}, r.net`

export class QuoteWriter {
  readonly #client: PoolClient
  readonly #prefix: string
  readonly #changes: Changes = new Map()
  #isOpen = false
  #inserted = 0
  #cascades = true

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

  async truncate(committed: Quotes): Promise<void> {
    await this.query('truncate quotes cascade')
    this.#changes.clear()
    for (const number of committed.keys()) this.#changes.set(number, null)
  }

  async truncateLines(committed: Quotes): Promise<void> {
    await this.query('truncate quote_lines')
    for (const quote of this.visible(committed).values())
      this.#changes.set(quote.number, { ...quote, lines: [] })
  }

  /** `replicated`: as the worker of a logical replication, in which nothing cascades. */
  async write(write: Write, committed: Quotes, { replicated = false } = {}): Promise<void> {
    this.#cascades = !replicated
    const own = [...this.visible(committed).values()].filter(({ number }) =>
      number.startsWith(this.#prefix),
    )
    const chosen = 'index' in write ? own[write.index % own.length] : undefined
    if (write.kind === 'insert') await this.#insert(this.#number(write.quotes))
    else if (write.kind === 'insert many')
      await this.#insert(this.#number(repeat(write.quotes, many)))
    else if (write.kind === 'merge') await this.#merge(own, this.#number(write.quotes))
    else if (write.kind === 'update all') await this.#update(changeTwoOfThree(own, write.quotes))
    else if (write.kind === 'delete all but') await this.#delete(own.slice(write.index))
    else if (!chosen) return
    else if (write.kind === 'update')
      await this.#update([{ ...write.quote, number: chosen.number }])
    else if (write.kind === 'change lines') await this.#setLines([{ ...chosen, ...write }])
    else await this.#delete([chosen])
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

  #number(quotes: NewQuote[]): Quote[] {
    return quotes.map((quote) => ({ ...quote, number: `${this.#prefix}${++this.#inserted}` }))
  }

  async #insert(quotes: Quote[]): Promise<void> {
    await this.query(`insert into quotes (${columnList}) select ${values} from ${rows}`, [
      JSON.stringify(quotes),
    ])
    await this.#setLines(quotes)
  }

  /** Writes the lines before the quotes every other time. */
  async #update(quotes: Quote[]): Promise<void> {
    const isWithLinesFirst = this.#inserted % 2 === 0
    if (isWithLinesFirst) await this.#setLines(quotes)
    await this.query(`update quotes q set ${assignments} from ${rows} where q.number = r.number`, [
      JSON.stringify(quotes),
    ])
    if (!isWithLinesFirst) await this.#setLines(quotes)
  }

  /** Inserts, updates and deletes lines in one statement. */
  async #setLines(quotes: Quote[]): Promise<void> {
    const lines = quotes.flatMap(({ number, lines = [] }) =>
      lines.map((line, index) => ({ ...line, number, position: index + 1 })),
    )
    await this.query(
      `merge into quote_lines l using (
        select q.id, r.* from quotes q join jsonb_to_recordset($1)
          as r (number text, position integer, sku text, net numeric) on r.number = q.number
      ) r on l.quote_id = r.id and l.position = r.position
      when matched then update set sku = r.sku, net = r.net
      when not matched then
        insert (quote_id, position, sku, description, quantity, unit_price, net)
        values (r.id, r.position, r.sku, 'Anything', 1, 1, r.net)
      when not matched by source
        and l.quote_id in (select id from quotes where number = any ($2)) then delete`,
      [JSON.stringify(lines), quotes.map(({ number }) => number)],
    )
    for (const quote of quotes) this.#changes.set(quote.number, quote)
  }

  async #deleteOrphans(): Promise<void> {
    if (this.#cascades) return
    await this.query(
      'delete from quote_lines l where not exists (select from quotes q where q.id = l.quote_id)',
    )
  }

  async #delete(quotes: Quote[]): Promise<void> {
    await this.query('delete from quotes where number = any ($1)', [
      quotes.map(({ number }) => number),
    ])
    await this.#deleteOrphans()
    for (const { number } of quotes) this.#changes.set(number, null)
  }

  /** Inserts `added`, and updates and deletes every other one of `own`. */
  async #merge(own: Quote[], added: Quote[]): Promise<void> {
    const updated = changeTwoOfThree(
      own.filter((_, index) => index % 2 === 0),
      added,
    )
    const deleted = own.filter((_, index) => index % 2 === 1)
    await this.query(
      `merge into quotes q using ${rows} on q.number = r.number
      when matched and r.status is null then delete
      when matched then update set ${assignments}
      when not matched then insert (${columnList}) values (${values})`,
      [JSON.stringify([...added, ...updated, ...deleted.map(({ number }) => ({ number }))])],
    )
    await this.#deleteOrphans()
    await this.#setLines([...added, ...updated])
    for (const { number } of deleted) this.#changes.set(number, null)
  }
}

const repeat = (quotes: NewQuote[], length: number): NewQuote[] =>
  Array.from({ length }, (_, index) => quotes[index % quotes.length]).filter((quote) => !!quote)

/** Every third quote remains as it is. */
const changeTwoOfThree = (quotes: Quote[], templates: NewQuote[]): Quote[] =>
  quotes.map((quote, index) => {
    const template = templates[index % templates.length]
    return index % 3 === 2 || !template ? quote : { ...template, number: quote.number }
  })
