// The sections that are loaded when the visitor opens them, with a key that has the scope
// stats:detail: customers and products, and what people search for.
import type { ComponentChildren } from 'preact'
import { KeyRequest } from './notices.tsx'
import { formats, texts } from './page.ts'
import type { Breakdown, SearchReport, Section } from './requests.ts'
import { type State, toggleSection } from './state.ts'
import { Bar, ShowAll, Table } from './tables.tsx'

/** How many rows each table of customers and products shows before the visitor asks for all. */
const maxRowsAtFirst = 10
/** How many rows each table of searches has. */
const maxSearches = 10

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

/* --- Customers and products --- */

type Row = {
  key: string
  label: ComponentChildren
  counts: number[]
  revenue: { amount: string; currency: string }
  /** How many have no exchange rate. */
  unconverted: number
}
type ListProps = {
  title: string
  headings: string[]
  /** Says how many of a row have no exchange rate. */
  unconvertedText: { one: string; other: string }
  rows: Row[]
  rest: Row | null
  isExpanded: boolean
}

export function BreakdownSection({ state }: { state: State }) {
  const { data } = state.breakdown
  const { heading } = texts.breakdown
  return (
    <Details
      id="breakdown"
      messageId="breakdown-message"
      heading={heading}
      section={state.breakdown}
    >
      {data && <Customers {...data.customers} expanded={state.expanded} />}
      {data && <Products {...data.products} expanded={state.expanded} />}
    </Details>
  )
}

type Expanded = Pick<State, 'expanded'>

function Customers({ rows, rest, expanded }: Breakdown['customers'] & Expanded) {
  const { customers: title, customer, noCustomer, otherCustomers } = texts.breakdown
  return (
    <List
      title={title}
      headings={[customer, texts.quotes, texts.accepted]}
      unconvertedText={texts.withoutRate}
      isExpanded={expanded.has(title)}
      rows={rows.map(({ customer, quotes, accepted, ...row }) => ({
        ...row,
        key: String(customer?.id),
        label: customer === null ? noCustomer : <bdi>{customer.name ?? `#${customer.id}`}</bdi>,
        counts: [quotes, accepted],
      }))}
      rest={
        rest && {
          ...rest,
          key: 'rest',
          label: formats.countText(rest.customers, otherCustomers),
          counts: [rest.quotes, rest.accepted],
        }
      }
    />
  )
}

function Products({ rows, rest, expanded }: Breakdown['products'] & Expanded) {
  const { products: title, product, noSku, otherProducts, ...names } = texts.breakdown
  return (
    <List
      title={title}
      headings={[product, names.lines]}
      unconvertedText={names.linesWithoutRate}
      isExpanded={expanded.has(title)}
      rows={rows.map(({ product, lines, ...row }) => ({
        ...row,
        key: String(product?.sku),
        label: product === null ? noSku : <Product {...product} />,
        counts: [lines],
      }))}
      rest={
        rest && {
          ...rest,
          key: 'rest',
          label: formats.countText(rest.products, otherProducts),
          counts: [rest.lines],
        }
      }
    />
  )
}

const Product = ({ sku, name }: { sku: string; name: string | null }) =>
  name === null ? (
    <bdi>{sku}</bdi>
  ) : (
    <>
      <bdi>{name}</bdi> <bdi class="note">{sku}</bdi>
    </>
  )

function List({ title, headings, unconvertedText, rows, rest, isExpanded }: ListProps) {
  const max = Math.max(0, ...rows.map(({ revenue }) => Number(revenue.amount)))
  const currency = rows[0]?.revenue.currency ?? ''
  return (
    <div>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="note">{texts.noRows}</p>
      ) : (
        <Table caption={title} headings={[...headings, `${texts.revenue} (${currency})`]}>
          {[...rows, ...(rest ? [rest] : [])].map((row, index) => (
            <tr
              key={row.key}
              class={row === rest ? 'rest' : isExpanded || index < maxRowsAtFirst ? '' : 'more'}
              tabIndex={index >= maxRowsAtFirst ? -1 : undefined}
              data-first-hidden={index === maxRowsAtFirst ? title : undefined}
            >
              <th scope="row">
                {row.label}
                {row.unconverted > 0 && (
                  <small class="row-note">
                    {formats.countText(row.unconverted, unconvertedText)}
                  </small>
                )}
                {row !== rest && (
                  <Bar value={Number(row.revenue.amount)} max={max} name="revenue" />
                )}
              </th>
              {row.counts.map((count, index) => (
                <td key={index}>{formats.count(count)}</td>
              ))}
              <td>{formats.amount(row.revenue)}</td>
            </tr>
          ))}
        </Table>
      )}
      {!isExpanded && rows.length > maxRowsAtFirst && <ShowAll table={title} count={rows.length} />}
    </div>
  )
}

/* --- Searches --- */

export function SearchesSection({ section }: { section: Section<SearchReport> }) {
  const { data } = section
  const { heading, note, summary, frequent, unsuccessful, words } = texts.searches
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
      {data && (
        <>
          <SearchList title={frequent} texts={data.frequent} counted="searches" />
          <SearchList title={unsuccessful} texts={data.unsuccessful} counted="withoutResult" />
          <SearchList title={words} texts={data.unknownWords} counted="searches" />
        </>
      )}
    </Details>
  )
}

type SearchListProps = {
  title: string
  texts: SearchReport['frequent']
  counted: 'searches' | 'withoutResult'
}

function SearchList({ title, texts: reported, counted }: SearchListProps) {
  const rows = reported.slice(0, maxSearches)
  const max = Math.max(0, ...rows.map((row) => row[counted]))
  return (
    <div>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="note">{texts.searches.none}</p>
      ) : (
        <Table caption={title} headings={[texts.searches.text, texts.searches.count]}>
          {rows.map((row) => (
            <tr key={row.text}>
              <th scope="row">
                <bdi>{row.text}</bdi>
                <Bar value={row[counted]} max={max} name="count" />
              </th>
              <td>{formats.count(row[counted])}</td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  )
}
