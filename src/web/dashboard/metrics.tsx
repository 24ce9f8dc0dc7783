// The metrics at the top: money by outcome, counts, acceptance, days to decision and the average
// amount, with their previous values.
import type { ComponentChildren } from 'preact'
import { formats, texts } from './page.ts'
import type { Stats } from './requests.ts'
import { ratio, subtract } from './sums.ts'

type MetricName =
  | 'revenue'
  | 'open'
  | 'lost'
  | 'quotes'
  | 'accepted'
  | 'acceptance'
  | 'days'
  | 'average'

type Metric = {
  value: ComponentChildren
  notes?: (string | null)[]
  /** The change since the comparison period, as a ratio. */
  change?: string | null | undefined
  /** Absent without a comparison. */
  previous?: string | null | undefined
}

/** The parts of the bar of outcomes. */
const outcomes: Partial<Record<MetricName, string>> = { revenue: 'won', open: 'open', lost: 'lost' }

/**
 * By acceptance date only accepted quotes count, so open and lost amounts and acceptance are left
 * out: they would be zero and 100 %.
 */
export function Metrics({ stats }: { stats: Stats }) {
  const metrics = metricsOf(stats)
  const list = (listName: string, ...names: MetricName[]) => (
    <dl class={listName}>
      {names.map((name) => (
        <MetricItem key={name} name={name} {...metrics[name]} />
      ))}
    </dl>
  )
  if (stats.period.date === 'accepted')
    return list('accepted-only', 'revenue', 'quotes', 'accepted', 'days', 'average')
  return (
    <>
      <OutcomeBar money={stats.quotes.money} />
      {list('money', 'revenue', 'open', 'lost')}
      {list('counts', 'quotes', 'accepted', 'acceptance', 'days', 'average')}
    </>
  )
}

function metricsOf(stats: Stats): Record<MetricName, Metric> {
  const { quotes, revenue, comparison } = stats
  const { byStatus, money, daysToDecision } = quotes
  const before = comparison?.quotes
  const lostBefore = before?.money.lost
  const unconverted = revenue.unconverted.reduce((total, { quotes }) => total + quotes, 0)
  const lostCount = byStatus.rejected + byStatus.expired
  const fillCount = (text: string, count: number) =>
    formats.fill(text, { count: formats.count(count) })
  const formatAverage = (average: Stats['revenue']['average']) =>
    average === null ? '–' : formats.money(average)
  return {
    revenue: {
      value: formats.money(revenue.total),
      notes: [
        unconverted === 0 ? texts.netOfAccepted : formats.countText(unconverted, texts.withoutRate),
      ],
      change: comparison?.change.revenue,
      previous: comparison && formats.money(comparison.revenue.total),
    },
    // Quotes of an earlier period are open no longer, so open amounts are not compared.
    open: {
      value: formats.money(money.open),
      notes: [fillCount(texts.sentAndValid, byStatus.sent)],
    },
    lost: {
      value: formats.money(money.lost),
      notes: [fillCount(texts.rejectedAndExpired, lostCount)],
      change:
        lostBefore && ratio(subtract(money.lost.amount, lostBefore.amount), lostBefore.amount),
      previous: lostBefore && formats.money(lostBefore),
    },
    quotes: {
      value: formats.count(quotes.total),
      change: comparison?.change.quotes,
      previous: before && formats.count(before.total),
    },
    accepted: {
      value: formats.count(byStatus.accepted),
      change: comparison?.change.accepted,
      previous: before && formats.count(before.byStatus.accepted),
    },
    acceptance: { value: <Acceptance {...stats} /> },
    days: {
      value: formats.days(daysToDecision.median),
      notes: [
        daysToDecision.mean &&
          formats.fill(texts.medianAndMean, { mean: formats.days(daysToDecision.mean) }),
        fillCount(texts.decidedOnKnownDay, daysToDecision.quotes),
      ],
      previous: before && formats.days(before.daysToDecision.median),
    },
    average: {
      value: formatAverage(revenue.average),
      notes: [texts.perAccepted],
      previous: comparison && formatAverage(comparison.revenue.average),
    },
  }
}

function MetricItem({ name, value, notes = [], change, previous }: Metric & { name: MetricName }) {
  const label = name === 'days' ? texts.daysToDecision : texts[name]
  const definition = name in texts.definitions ? `definition-${name}` : undefined
  return (
    <div class="metric" data-metric={name}>
      <dt>
        {name in outcomes && <span class={`key ${outcomes[name]}`} aria-hidden="true" />}
        {definition ? (
          <button
            type="button"
            class="term"
            data-key={definition}
            popovertarget={definition}
            aria-describedby={definition}
          >
            {label}
          </button>
        ) : (
          label
        )}
      </dt>
      <dd class={typeof value === 'string' ? 'value' : 'values'}>{value}</dd>
      {previous && (
        <dd class="previous-value">
          {change && <Change text={formats.change(change)} isBetterLower={name === 'lost'} />}
          {change && ' '}
          {formats.fill(texts.previousValue, { value: previous })}
        </dd>
      )}
      {notes.map(
        (note) =>
          note !== null && (
            <dd key={note} class="note">
              {note}
            </dd>
          ),
      )}
    </div>
  )
}

/** A change with its sign, an arrow and a colour. */
function Change({ text, isBetterLower = false }: { text: string; isBetterLower?: boolean }) {
  const isUp = text.startsWith('+')
  const isDown = /^[-−]/.test(text)
  const isGood = isBetterLower ? isDown : isUp
  const looks = isUp || isDown ? `${isUp ? 'up' : 'down'} ${isGood ? 'good' : 'bad'}` : ''
  return <span class={`change ${looks}`}>{text}</span>
}

/** A bar that is divided like the value of the sent quotes. The metrics contain the amounts. */
function OutcomeBar({ money }: { money: Stats['quotes']['money'] }) {
  const amounts = (['won', 'open', 'lost'] as const).map(
    (outcome) => [outcome, Number(money[outcome].amount)] as const,
  )
  const total = amounts.reduce((total, [, amount]) => total + amount, 0)
  return (
    <div class="outcome-bar" aria-hidden="true">
      {amounts.map(([outcome, amount]) => {
        const inlineSize = `${(amount / total) * 100}%`
        return (
          amount !== 0 && <span key={outcome} class={`key ${outcome}`} style={{ inlineSize }} />
        )
      })}
    </div>
  )
}

/**
 * The four rates of acceptance: by number of quotes and by value, of the decided quotes and of the
 * sent ones. With a comparison, each shows its change in percentage points. Without one, the rates
 * by number show the numbers of quotes.
 */
function Acceptance({ quotes, comparison }: Pick<Stats, 'quotes' | 'comparison'>) {
  const { accepted, sent, rejected, expired } = quotes.byStatus
  const decided = accepted + rejected + expired
  const outOf = (whole: number) =>
    formats.fill(texts.outOf, { part: formats.count(accepted), whole: formats.count(whole) })
  const cell = (name: keyof typeof quotes.acceptance, metric: string, note?: string) => {
    const rate = quotes.acceptance[name]
    const previousRate = comparison?.quotes.acceptance[name] ?? null
    const points =
      rate !== null && previousRate !== null && formats.points(subtract(rate, previousRate))
    const change = points && <Change text={formats.fill(texts.points, { points })} />
    const shownNote = comparison ? change : note
    return (
      <td data-metric={metric}>
        <span class="value">{formats.percent(rate)}</span>
        {shownNote && <span class="note">{shownNote}</span>}
      </td>
    )
  }
  return (
    <table class="rates">
      <thead>
        <tr>
          <td />
          <th scope="col">{texts.ofDecided}</th>
          <th scope="col">{texts.ofSent}</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">{texts.byNumber}</th>
          {cell('ofDecided', 'of-decided', outOf(decided))}
          {cell('ofSent', 'of-sent', outOf(sent + decided))}
        </tr>
        <tr>
          <th scope="row">{texts.byValue}</th>
          {cell('ofDecidedValue', 'of-decided-value')}
          {cell('ofSentValue', 'of-sent-value')}
        </tr>
      </tbody>
    </table>
  )
}
