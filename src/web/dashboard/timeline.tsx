// Revenue and quotes by day, month or year: two charts with the same columns, and a table.
import { useEffect, useRef } from 'preact/hooks'
import { ColumnChart, columnIndexAt } from './column-chart.tsx'
import { formats, intervalGroup, intervalName, shortIntervalName, texts } from './page.ts'
import { chooseInterval, offeredIntervals } from './periods.ts'
import { addressWith, changeFilters, changeToInterval, type State, update } from './state.ts'
import { type Interval, intervalsOf } from './sums.ts'
import { ColumnChoice, chosenColumns, columnGroupsOf, GroupTable } from './tables.tsx'

/** The width of charts on paper, in CSS pixels. It does not depend on the window. */
const printWidth = 680
const revenueChartHeight = 208
const quotesChartHeight = 132

export function Timeline({ state }: { state: State }) {
  const { shown, showsTable } = state
  const kind = shown ? chooseInterval(shown.stats, shown.filters.by) : 'month'
  const intervals = shown ? intervalsOf(shown.stats, kind) : []
  const offered = shown ? offeredIntervals(shown.stats.period, shown.stats.byMonth.length) : []
  const names = { day: texts.days, month: texts.months, year: texts.years }
  const captions = { day: texts.byDay, month: texts.byMonth, year: texts.byYear }
  const columns = shown ? columnGroupsOf(shown.stats.period, kind === 'year') : []
  const rows = intervals.map((interval) => ({
    name: interval.name,
    group: interval,
    label: <IntervalLabel interval={interval} isLink={showsTable} />,
  }))
  return (
    <section
      class="card timeline"
      id="timeline"
      aria-labelledby="timeline-title"
      data-columns={chosenColumns(state.columns.timeline, columns)}
    >
      <div class="card-head">
        <h2 id="timeline-title">{texts.timeline}</h2>
        <p class="timeline-details" id="timeline-details">
          <Details intervals={intervals} pointed={state.pointed} />
        </p>
        <nav
          class="choices"
          id="interval-choice"
          aria-label={texts.timeline}
          hidden={offered.length < 2}
        >
          {offered.map((by) => (
            <a key={by} href={addressWith({ by })} aria-current={by === kind ? 'true' : undefined}>
              {names[by]}
            </a>
          ))}
        </nav>
        <button
          type="button"
          class="quiet"
          id="timeline-table-button"
          aria-pressed={showsTable}
          onClick={() => update({ showsTable: !showsTable, pointed: null })}
        >
          {texts.table}
        </button>
      </div>
      <Charts state={state} intervals={intervals} />
      <ColumnChoice
        table="timeline"
        columns={state.columns}
        groups={columns}
        hidden={!showsTable}
      />
      <div class={showsTable ? '' : 'hidden'} id="timeline-table">
        {shown && (
          <GroupTable
            caption={captions[kind]}
            rowHeading={texts[kind]}
            columns={columns}
            currency={intervals[0]?.revenue.currency ?? ''}
            rows={rows}
          />
        )}
      </div>
    </section>
  )
}

type IntervalsProps = { intervals: Interval[]; pointed: string | null }

/** The amounts of the column under the pointer, or else the legend of partial columns. */
function Details({ intervals, pointed }: IntervalsProps) {
  const interval = intervals.find(({ name }) => name === pointed)
  if (!interval) {
    const hasPartial = intervals.some(({ isPartial }) => isPartial)
    return (
      <>
        {hasPartial && <span class="key partial" />}
        {hasPartial && texts.partialLegend}
      </>
    )
  }
  const { name, isPartial, quotes, accepted, revenue } = interval
  const counts = { quotes: formats.count(quotes), accepted: formats.count(accepted) }
  return (
    <>
      <strong>
        <a href={addressWith(changeToInterval(name))} data-key={name}>
          {intervalName(name)}
        </a>
      </strong>
      {` ${formats.money(revenue)} · ${formats.fill(texts.quotesInPeriod, counts)}`}
      {isPartial && ` · ${texts.partial}`}
    </>
  )
}

/** A hidden table has no links, because the keyboard must not reach invisible elements. */
function IntervalLabel({ interval, isLink }: { interval: Interval; isLink: boolean }) {
  const { name, isPartial } = interval
  const text = intervalName(name)
  return (
    <>
      {isLink ? (
        <a href={addressWith(changeToInterval(name))} data-key={name}>
          {text}
        </a>
      ) : (
        text
      )}
      {isPartial && <small>{` ${texts.partial}`}</small>}
    </>
  )
}

function Charts({ state, intervals }: { state: State; intervals: Interval[] }) {
  const { pointed, isPrinting, chartWidth } = state
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const width = container.current?.clientWidth ?? 0
      // Hidden charts have no width.
      if (width > 0) update({ chartWidth: width })
    })
    if (container.current) observer.observe(container.current)
  }, [])
  const intervalAt = ({ clientX }: MouseEvent) => {
    const svg = container.current?.querySelector('svg')
    return svg && intervals[columnIndexAt(svg, intervals.length, clientX)]
  }
  const point = (event: MouseEvent) => {
    const name = intervalAt(event)?.name ?? null
    if (name !== pointed) update({ pointed: name })
  }
  const columnsWith = (partsOf: (interval: Interval) => number[]) =>
    intervals.map((interval) => ({
      name: interval.name,
      isPartial: interval.isPartial,
      label: shortIntervalName(interval.name),
      group: intervalGroup(interval.name),
      parts: partsOf(interval),
    }))
  const first = intervals[0]
  const last = intervals.at(-1)
  const label = (text: string) =>
    first && last
      ? formats.fill(text, {
          from: intervalName(first.name),
          to: intervalName(last.name),
          currency: first.revenue.currency,
        })
      : text
  const shared = {
    width: intervals.length === 0 ? 0 : isPrinting ? printWidth : chartWidth,
    pointed,
    formatAxis: formats.compact,
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table does the same by keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table does the same by keyboard
    <div
      class="charts"
      id="charts"
      hidden={state.showsTable && !isPrinting}
      ref={container}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={({ pointerType }) => {
        // A finger that is lifted leaves the details, so that their link can be tapped.
        if (pointerType !== 'touch' && pointed !== null) update({ pointed: null })
      }}
      onClick={(event) => {
        const interval = intervalAt(event)
        // A tap only shows the details and their link. With a mouse, hovering has shown them.
        const isMouse = event instanceof PointerEvent && event.pointerType === 'mouse'
        if (interval && isMouse) changeFilters(changeToInterval(interval.name))
      }}
    >
      <p class="legend" aria-hidden="true">
        <span class="key revenue" />
        {texts.revenue}
      </p>
      <ColumnChart
        {...shared}
        id="revenue-chart"
        label={label(texts.revenueChartLabel)}
        columns={columnsWith(({ revenue }) => [Number(revenue.amount)])}
        parts={['revenue']}
        height={revenueChartHeight}
      />
      <p class="legend" aria-hidden="true">
        <span class="key accepted" />
        {texts.accepted} <span class="key others" />
        {texts.otherQuotes}
      </p>
      <ColumnChart
        {...shared}
        id="quotes-chart"
        label={label(texts.quotesChartLabel)}
        columns={columnsWith(({ accepted, quotes }) => [accepted, quotes - accepted])}
        parts={['accepted', 'others']}
        height={quotesChartHeight}
        hasLabels
        isWhole
      />
    </div>
  )
}
