// The tables by country, status and currency, and the parts of which tables are made.
import type { ComponentChildren } from 'preact'
import { countryName, formats, texts } from './page.ts'
import type { Stats } from './requests.ts'
import { addressWith, type ColumnGroup, expand, type State, update } from './state.ts'

/** How many countries the table shows before the visitor asks for all. */
const maxCountriesAtFirst = 12

type TableProps = { caption: string; headings: string[]; children: ComponentChildren }

export const Table = ({ caption, headings, children }: TableProps) => (
  <table>
    <caption class="hidden">{caption}</caption>
    <thead>
      <tr>
        {headings.map((heading) => (
          <th key={heading} scope="col">
            {heading}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

type BarProps = { value: number; max: number; name: string }

/**
 * A bar whose length is the value's share of the maximum. Hidden from screen readers: the row
 * contains the number.
 */
export function Bar({ value, max, name }: BarProps) {
  const percent = max > 0 ? Math.max(0, (value / max) * 100) : 0
  return (
    <span class="track" aria-hidden="true">
      <span class={`meter ${name}`} style={{ inlineSize: `${percent}%` }} />
    </span>
  )
}

type ShowAllProps = { table: string; count: number }

export const ShowAll = ({ table, count }: ShowAllProps) => (
  <button type="button" class="quiet more-button" onClick={() => expand(table)}>
    {formats.fill(texts.showAll, { count: formats.count(count) })}
  </button>
)

/* --- Tables by country and by interval: columns in groups --- */

type Group = Omit<Stats['byCountry'][number], 'country' | 'byStatus'>
/** The columns from left to right. The heading of each is the text of its name. */
const columns = {
  quotes: { group: 'revenue', format: ({ quotes }) => formats.count(quotes) },
  accepted: { group: 'revenue', format: ({ accepted }) => formats.count(accepted) },
  revenue: { group: 'revenue', format: ({ revenue }) => formats.amount(revenue) },
  open: { group: 'outcomes', format: ({ money }) => formats.amount(money.open) },
  lost: { group: 'outcomes', format: ({ money }) => formats.amount(money.lost) },
  byNumber: { group: 'acceptance', format: (group) => formats.percent(group.acceptance.ofDecided) },
  byValue: {
    group: 'acceptance',
    format: ({ acceptance }) => formats.percent(acceptance.ofDecidedValue),
  },
  median: { group: 'days', format: (group) => formats.days(group.daysToDecision.median) },
  mean: { group: 'days', format: ({ daysToDecision }) => formats.days(daysToDecision.mean) },
} satisfies Record<string, { group: ColumnGroup; format: (group: Group) => string }>
type ColumnName = keyof typeof columns

/** Columns at which a heading above them begins. */
const firstColumns: ColumnName[] = ['revenue', 'byNumber', 'median']
/** Columns of amounts. */
const amountColumns: ColumnName[] = ['revenue', 'open', 'lost']

/**
 * By acceptance date only accepted quotes count, so nothing is open or lost. The days of several
 * months have no common median, so a table by year has no days.
 */
export function columnGroupsOf({ date }: Stats['period'], isByYear = false): ColumnGroup[] {
  const groups: ColumnGroup[] =
    date === 'accepted' ? ['revenue'] : ['revenue', 'outcomes', 'acceptance']
  return isByYear ? groups : [...groups, 'days']
}

const classOf = (name: ColumnName, isZero = false) =>
  `column-${columns[name].group}${firstColumns.includes(name) ? ' first' : ''}${isZero ? ' zero' : ''}`

type GroupTableProps = {
  caption: string
  rowHeading: string
  columns: ColumnGroup[]
  currency: string
  rows: { name: string; group: Group; label: ComponentChildren; isHidden?: boolean }[]
}

/** Narrow screens show one group of columns at a time. */
export function GroupTable({ caption, rowHeading, columns: groups, ...table }: GroupTableProps) {
  const names = (Object.keys(columns) as ColumnName[]).filter((name) =>
    groups.includes(columns[name].group),
  )
  const { definitions } = texts
  /** Shown if the heading above the column is not. */
  const unitOf = (name: ColumnName) => {
    if (amountColumns.includes(name)) return ` (${table.currency})`
    return columns[name].group === 'acceptance' && ` (${texts.ofDecided})`
  }
  return (
    <table class="groups">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr class="column-groups">
          <td colSpan={3} />
          <th scope="colgroup" colSpan={groups.includes('outcomes') ? 3 : 1}>
            {formats.fill(texts.amountsIn, { currency: table.currency })}
          </th>
          {groups.includes('acceptance') && (
            <th scope="colgroup" colSpan={2} title={definitions.acceptance}>
              {texts.acceptanceOfDecided}
            </th>
          )}
          {groups.includes('days') && (
            <th scope="colgroup" colSpan={2} title={definitions.days}>
              {texts.daysToDecision}
            </th>
          )}
        </tr>
        <tr>
          <th scope="col">{rowHeading}</th>
          {names.map((name) => (
            <th
              key={name}
              scope="col"
              class={classOf(name)}
              title={
                name in definitions ? definitions[name as keyof typeof definitions] : undefined
              }
            >
              {texts[name]}
              {unitOf(name) && <span class="unit">{unitOf(name)}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map(({ name, group, label, isHidden }) => (
          <tr key={name} data-name={name} class={isHidden ? 'more' : undefined}>
            <th scope="row">{label}</th>
            {names.map((column) => {
              const text = columns[column].format(group)
              return (
                <td key={column} class={classOf(column, !/[1-9]/.test(text))}>
                  {text}
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type ColumnChoiceProps = {
  table: keyof State['columns']
  columns: State['columns']
  groups: ColumnGroup[]
  hidden?: boolean
}

/** Returns the columns that a narrow screen shows: the chosen ones if the table has them. */
export const chosenColumns = (chosen: ColumnGroup, groups: ColumnGroup[]): ColumnGroup =>
  groups.includes(chosen) ? chosen : 'revenue'

/** The choice of columns on a narrow screen. Wide screens and paper show all columns. */
export const ColumnChoice = ({ table, columns, groups, hidden = false }: ColumnChoiceProps) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be a flex container everywhere
  <div
    class="choices columns-choice"
    id={`${table}-columns`}
    role="group"
    aria-label={texts.columns}
    hidden={hidden}
  >
    {groups.map((group) => (
      <button
        key={group}
        type="button"
        aria-pressed={group === chosenColumns(columns[table], groups)}
        onClick={() => update({ columns: { ...columns, [table]: group } })}
      >
        {texts.columnGroups[group]}
      </button>
    ))}
  </div>
)

/* --- The tables --- */

export function Countries({ state }: { state: State }) {
  const { shown } = state
  const groups = shown ? columnGroupsOf(shown.stats.period) : []
  return (
    <section
      class="card countries"
      aria-labelledby="countries-title"
      data-columns={chosenColumns(state.columns.country, groups)}
    >
      <h2 id="countries-title">{texts.byCountry}</h2>
      <ColumnChoice table="country" columns={state.columns} groups={groups} />
      <div id="countries">
        {shown && <CountriesTable {...shown} showsAll={state.expanded.has('countries')} />}
      </div>
    </section>
  )
}

type Shown = NonNullable<State['shown']>

function CountriesTable({ stats, filters, showsAll }: Shown & { showsAll: boolean }) {
  const { byCountry, revenue, period } = stats
  const max = Math.max(0, ...byCountry.map(({ revenue }) => Math.abs(Number(revenue.amount))))
  const rows = byCountry.map((group, index) => {
    const code = group.country ?? 'unknown'
    const isSelected = filters.country === code
    const link = (
      <a
        href={addressWith({ country: isSelected ? '' : code })}
        data-key={code}
        data-first-hidden={index === maxCountriesAtFirst ? 'countries' : undefined}
        aria-current={isSelected ? 'true' : undefined}
      >
        {countryName(code)}
      </a>
    )
    return {
      name: code,
      group,
      label: [
        link,
        <Bar key="bar" value={Number(group.revenue.amount)} max={max} name="revenue" />,
      ],
      isHidden: !showsAll && index >= maxCountriesAtFirst,
    }
  })
  return (
    <>
      <GroupTable
        caption={texts.byCountry}
        rowHeading={texts.country}
        columns={columnGroupsOf(period)}
        currency={revenue.total.currency}
        rows={rows}
      />
      {rows.length === 0 && <p class="no-rows">{texts.noRows}</p>}
      {!showsAll && rows.length > maxCountriesAtFirst && (
        <ShowAll table="countries" count={rows.length} />
      )}
    </>
  )
}

export function StatusesTable({ quotes }: Stats) {
  const { accepted, draft, ...others } = quotes.byStatus
  const counts = Object.entries({ accepted, ...others, draft })
  const max = Math.max(...counts.map(([, count]) => count))
  return (
    <Table caption={texts.byStatus} headings={[texts.statusHeading, texts.quotes, texts.share]}>
      {counts.map(([status, count]) => (
        <tr key={status} data-name={status}>
          <th scope="row">
            {texts.status[status as keyof typeof texts.status]}
            <Bar value={count} max={max} name={status} />
          </th>
          <td>{formats.count(count)}</td>
          <td>{formats.percent(quotes.total === 0 ? null : String(count / quotes.total))}</td>
        </tr>
      ))}
    </Table>
  )
}

/** A second row of a currency shows its unconverted amount. Of several, each can be selected. */
export function CurrenciesTable({ stats: { revenue, quotes }, filters }: Shown) {
  const { byCurrency, unconverted, total } = revenue
  return (
    <>
      <Table caption={texts.byCurrency} headings={[texts.currency, texts.accepted, texts.amount]}>
        {byCurrency.map((money) => {
          const { currency } = money
          const isSelected = currency === filters.currency
          const part = unconverted.find((money) => money.currency === currency)
          const row = (
            <tr key={currency} data-name={currency}>
              <th scope="row">
                {isSelected || byCurrency.length > 1 ? (
                  <a
                    class="code"
                    href={addressWith({ currency: isSelected ? '' : currency })}
                    data-key={currency}
                    aria-current={isSelected ? 'true' : undefined}
                  >
                    {currency}
                  </a>
                ) : (
                  <span class="code">{currency}</span>
                )}
                <Bar value={money.quotes} max={quotes.byStatus.accepted} name="revenue" />
              </th>
              <td>{formats.count(money.quotes)}</td>
              <td>{formats.money(money)}</td>
            </tr>
          )
          if (!part) return row
          return [
            row,
            <tr key={`${currency} part`} class="part" data-name={`${currency} unconverted`}>
              <th scope="row">{texts.ofWhichUnconverted}</th>
              <td>{formats.count(part.quotes)}</td>
              <td>{formats.money(part)}</td>
            </tr>,
          ]
        })}
      </Table>
      {byCurrency.length === 0 && <p class="no-rows">{texts.noRows}</p>}
      {unconverted.length > 0 && (
        <p class="note">{formats.fill(texts.currenciesNote, { currency: total.currency })}</p>
      )}
    </>
  )
}
