// The sections that are loaded when the visitor opens them, with a key that has the scope
// stats:detail: customers and products, and what people search for.
import type { ComponentChildren } from 'preact'
import type { Money } from '../browser/number-and-date-formats.ts'
import { KeyRequest } from './notices.tsx'
import { formats, texts } from './page.ts'
import type { SearchReport, Section } from './requests.ts'
import { type State, toggleSection } from './state.ts'
import { Bar, ShowAll, Table } from './tables.tsx'

/** How many rows each table shows. The visitor can ask for all customers and products. */
const maxRowsAtFirst = 10

type DetailsProps = {
  id: 'breakdown' | 'searches'
  messageId: string
  heading: string
  section: Section<unknown>
  summary?: string
  note?: string
  children: ComponentChildren
}

function Details({ id, messageId, heading, section, summary, note, children }: DetailsProps) {
  const { isBusy, problem } = section
  return (
    <details
      class="card on-demand"
      id={id}
      aria-busy={isBusy ? 'true' : undefined}
      onToggle={({ currentTarget }) => toggleSection(id, currentTarget.open)}
    >
      <summary>
        <h2 class="on-demand-title">{heading}</h2>
      </summary>
      <p id={messageId} role="status">
        {problem === 'needsKey' ? <KeyRequest /> : problem ? texts.errors[problem] : summary}
      </p>
      <div class="on-demand-tables" id={`${id}-tables`}>
        {children}
      </div>
      {note && <p class="note">{note}</p>}
    </details>
  )
}

type Row = {
  key: string
  label: ComponentChildren
  cells: string[]
  /** The value of its bar, or null for none. */
  value: number | null
  note?: string | false
}
type ListProps = {
  title: string
  headings: string[]
  rows: Row[]
  /** Shown instead of a table without rows. */
  none: string
  barName: 'revenue' | 'count'
  isExpanded?: boolean
}

function List({ title, headings, rows, none, barName, isExpanded = false }: ListProps) {
  const max = Math.max(0, ...rows.map(({ value }) => value ?? 0))
  const count = rows.filter(({ value }) => value !== null).length
  const isHidden = (row: Row, index: number) =>
    !isExpanded && row.value !== null && index >= maxRowsAtFirst
  return (
    <div>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="note">{none}</p>
      ) : (
        <Table caption={title} headings={headings}>
          {rows.map((row, index) => (
            <tr
              key={row.key}
              class={row.value === null ? 'rest' : isHidden(row, index) ? 'more' : ''}
              tabIndex={index >= maxRowsAtFirst ? -1 : undefined}
              data-first-hidden={index === maxRowsAtFirst ? title : undefined}
            >
              <th scope="row">
                {row.label}
                {row.note && <small class="row-note">{row.note}</small>}
                {row.value !== null && <Bar value={row.value} max={max} name={barName} />}
              </th>
              {row.cells.map((text, index) => (
                <td key={index}>{text}</td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      {!isExpanded && count > maxRowsAtFirst && <ShowAll table={title} count={count} />}
    </div>
  )
}

/* --- Customers and products --- */

export function BreakdownSection({ state }: { state: State }) {
  const { data } = state.breakdown
  const { breakdown } = texts
  const isExpanded = (title: string) => state.expanded.has(title)
  return (
    <Details
      id="breakdown"
      messageId="breakdown-message"
      heading={breakdown.heading}
      section={state.breakdown}
    >
      {data && (
        <>
          <List
            title={breakdown.customers}
            headings={[breakdown.customer, texts.quotes, texts.accepted, revenueIn(data.customers)]}
            none={texts.noRows}
            barName="revenue"
            isExpanded={isExpanded(breakdown.customers)}
            rows={revenueRows(data.customers, texts.withoutRate, (row) => ({
              counts: [row.quotes, row.accepted],
              ...('customers' in row
                ? { key: 'rest', label: formats.countText(row.customers, breakdown.otherCustomers) }
                : {
                    key: String(row.customer?.id),
                    label: row.customer ? (
                      <bdi>{row.customer.name ?? `#${row.customer.id}`}</bdi>
                    ) : (
                      breakdown.noCustomer
                    ),
                  }),
            }))}
          />
          <List
            title={breakdown.products}
            headings={[breakdown.product, breakdown.lines, revenueIn(data.products)]}
            none={texts.noRows}
            barName="revenue"
            isExpanded={isExpanded(breakdown.products)}
            rows={revenueRows(data.products, breakdown.linesWithoutRate, (row) => ({
              counts: [row.lines],
              ...('products' in row
                ? { key: 'rest', label: formats.countText(row.products, breakdown.otherProducts) }
                : {
                    key: String(row.product?.sku),
                    label: row.product ? <Product {...row.product} /> : breakdown.noSku,
                  }),
            }))}
          />
        </>
      )}
    </Details>
  )
}

type Revenue = { revenue: Money; unconverted: number }
type Groups<Group, Rest> = { rows: Group[]; rest: Rest | null }

const revenueIn = ({ rows }: Groups<Revenue, unknown>) =>
  `${texts.revenue} (${rows[0]?.revenue.currency ?? ''})`

/** The rows of the groups and of the rest. `note` says how many of a row have no exchange rate. */
function revenueRows<Group extends Revenue, Rest extends Revenue>(
  { rows, rest }: Groups<Group, Rest>,
  note: { one: string; other: string },
  describe: (row: Group | Rest) => Pick<Row, 'key' | 'label'> & { counts: number[] },
): Row[] {
  return [...rows, ...(rest ? [rest] : [])].map((row) => {
    const { counts, ...described } = describe(row)
    return {
      ...described,
      cells: [...counts.map(formats.count), formats.amount(row.revenue)],
      value: row === rest ? null : Number(row.revenue.amount),
      note: row.unconverted > 0 && formats.countText(row.unconverted, note),
    }
  })
}

const Product = ({ sku, name }: { sku: string; name: string | null }) =>
  name === null ? (
    <bdi>{sku}</bdi>
  ) : (
    <>
      <bdi>{name}</bdi> <bdi class="note">{sku}</bdi>
    </>
  )

/* --- Searches --- */

export function SearchesSection({ section }: { section: Section<SearchReport> }) {
  const { data } = section
  const { heading, note, summary, frequent, unsuccessful, words } = texts.searches
  const listOf = (
    title: string,
    reported: SearchReport['frequent'],
    counted: 'searches' | 'withoutResult',
  ) => (
    <List
      title={title}
      headings={[texts.searches.text, texts.searches.count]}
      none={texts.searches.none}
      barName="count"
      rows={reported.slice(0, maxRowsAtFirst).map(({ text, [counted]: count }) => ({
        key: text,
        label: <bdi>{text}</bdi>,
        cells: [formats.count(count)],
        value: count,
      }))}
    />
  )
  return (
    <Details
      id="searches"
      messageId="searches-summary"
      heading={heading}
      section={section}
      {...(data && {
        note,
        summary: formats.fill(formats.choosePlural(data.searches, summary), {
          days: formats.count(data.days),
          searches: formats.count(data.searches),
          withoutResult: formats.count(data.withoutResult),
        }),
      })}
    >
      {data && listOf(frequent, data.frequent, 'searches')}
      {data && listOf(unsuccessful, data.unsuccessful, 'withoutResult')}
      {data && listOf(words, data.unknownWords, 'searches')}
    </Details>
  )
}
