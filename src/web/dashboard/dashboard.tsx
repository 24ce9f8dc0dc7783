// The script of the dashboard: renders what state.ts says into the page.
import { render } from 'preact'
import { FilterBar, Header, presetAddress } from './filter-bar.tsx'
import { type Filters, originPeriod } from './filters.ts'
import { Metrics } from './metrics.tsx'
import { ErrorNotice, KeyForm } from './notices.tsx'
import { countryName, formats, intervalName, page, texts } from './page.ts'
import { countMonths, intervalOfPeriod, isDay, needsYears, periodOfInterval } from './periods.ts'
import { BreakdownSection, SearchesSection } from './sections.tsx'
import { addressWith, type State, start, titleOf } from './state.ts'
import { Countries, CurrenciesTable, StatusesTable } from './tables.tsx'
import { Timeline } from './timeline.tsx'

const container = document.getElementById('dashboard')
if (!container) throw new Error('The page has no #dashboard.')
start((state) => render(<Dashboard state={state} />, container))

function Dashboard({ state }: { state: State }) {
  const { shown, keyForm, keyProblem } = state
  return (
    <>
      <Header state={state} />
      <FilterBar state={state} />
      <main>
        <ErrorNotice error={state.error} />
        <KeyForm keyForm={keyForm} keyProblem={keyProblem} />
        <p class="hidden" id="announcement" role="status">
          {state.announcement}
        </p>
        <div
          id="statistics"
          hidden={state.isHidden}
          aria-busy={state.isLoading ? 'true' : undefined}
        >
          <section class="head" aria-labelledby="period">
            <Trail filters={state.filters} />
            <h2 id="period" tabIndex={-1}>
              {shown ? titleOf(shown) : texts.loading}
            </h2>
            <p id="comparison">{shown && <Notes stats={shown.stats} />}</p>
            <div class="card metrics" id="metrics">
              {shown && <Metrics stats={shown.stats} />}
            </div>
          </section>
          <p class="card no-quotes" id="no-quotes" hidden={!shown || shown.stats.quotes.total > 0}>
            {`${texts.noQuotes} `}
            <a href={presetAddress('all')}>{texts.showEverything}</a>
          </p>
          <Timeline state={state} />
          <Countries state={state} />
          <div class="columns">
            <section class="card" aria-labelledby="statuses-title">
              <h2 id="statuses-title">{texts.byStatus}</h2>
              <div id="statuses">{shown && <StatusesTable {...shown.stats} />}</div>
            </section>
            <section class="card currencies" aria-labelledby="currencies-title">
              <h2 id="currencies-title">{texts.byCurrency}</h2>
              <div id="currencies">{shown && <CurrenciesTable {...shown} />}</div>
            </section>
          </div>
          <BreakdownSection state={state} />
          {page.hasSearchReport && <SearchesSection section={state.searches} />}
          <Definitions />
        </div>
      </main>
    </>
  )
}

function Notes({ stats: { comparison, period } }: Pick<NonNullable<State['shown']>, 'stats'>) {
  const compared = comparison && formats.period(comparison.period.from, comparison.period.to)
  const notes = [
    compared && formats.fill(texts.comparedWith, { period: compared }),
    period.date === 'accepted' && texts.acceptedOnlyNote,
  ]
  return <>{notes.filter(Boolean).join(' · ')}</>
}

const Definitions = () => (
  <section class="definitions" aria-label={texts.definitionsTitle}>
    {Object.entries(texts.definitions).map(([name, text]) => (
      <p key={name} id={`definition-${name}`} popover>
        <strong>{texts.definedTerms[name as keyof typeof texts.definedTerms]}</strong> {text}
      </p>
    ))}
  </section>
)

type Level = { label: string; change: Partial<Filters> }

/**
 * The way back from a selected year, month, day, country or currency: a link for each level above
 * it. Hidden if there are none.
 */
function Trail({ filters }: { filters: Filters }) {
  const { from, to, country, currency } = filters
  const periods = periodLevels(filters)
  const interval = intervalOfPeriod({ from, to })
  const lists = [
    periods.length > 0 && {
      levels: periods,
      current: interval ? intervalName(interval) : formats.period(from, to),
    },
    country !== '' && {
      levels: [{ label: texts.allCountries, change: { country: '' } }],
      current: countryName(country),
    },
    currency !== '' && {
      levels: [{ label: texts.allCurrencies, change: { currency: '' } }],
      current: currency,
    },
  ].filter((list) => list !== false)
  return (
    <nav class="trail" id="trail" aria-label={texts.trail} hidden={lists.length === 0}>
      {lists.map(({ levels, current }) => (
        <ol key={levels[0]?.label}>
          {levels.map(({ label, change }) => (
            <li key={label}>
              <a href={addressWith(change)}>{label}</a>
            </li>
          ))}
          <li>
            <span aria-current="true">{current}</span>
          </li>
        </ol>
      ))}
    </nav>
  )
}

/**
 * The levels from the period where the visitor started down to the one above the selected period:
 * years are a level if that period is shown by years, and months if a day is selected.
 */
function periodLevels({ preset, from, to, within }: Filters): Level[] {
  const origin = originPeriod(within)
  if (preset !== 'custom' || !origin || !isDay(from) || !isDay(to)) return []
  const isCustom = origin.preset === 'custom'
  const label = isCustom
    ? formats.period(origin.from, origin.to)
    : texts.presets[origin.preset as keyof typeof texts.presets]
  const startsWithYears =
    origin.preset === 'all' || (isCustom && needsYears(countMonths(origin.from, origin.to)))
  const startsWithDays =
    origin.preset === 'month' || (isCustom && origin.from.slice(0, 7) === origin.to.slice(0, 7))
  const name = intervalOfPeriod({ from, to }) ?? ''
  /** The year or the month above, by the length of its name. */
  const levelAbove = (length: number): Level => ({
    label: intervalName(name.slice(0, length)),
    change: { preset: 'custom', ...periodOfInterval(name.slice(0, length)), by: '', within },
  })
  return [
    { label, change: { ...origin, by: '', within: '' } },
    ...(startsWithYears && name.length > 4 ? [levelAbove(4)] : []),
    ...(!startsWithDays && name.length > 7 ? [levelAbove(7)] : []),
  ]
}
