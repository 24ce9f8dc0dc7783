// The metrics at the top: money by outcome, counts, acceptance, days to decision and the average
// amount, with their previous values.
import type { ComponentChildren } from 'preact'
import { formats, texts } from './page.ts'
import type { Stats } from './requests.ts'
import { ratio, subtract } from './sums.ts'

type MetricProps = {
  name: string
  label: string
  /** Explains the label. */
  definition?: keyof typeof texts.definitions
  /** The part of the bar. */
  outcome?: 'won' | 'open' | 'lost'
  value: ComponentChildren
  notes?: (string | null)[]
  change?: ComponentChildren
  /** Absent without a comparison. */
  previous?: string | null | undefined
}

/**
 * By acceptance date only accepted quotes count, so open and lost amounts and acceptance are left
 * out: they would be zero and 100 %.
 */
export function Metrics({ stats }: { stats: Stats }) {
  const { quotes, revenue, comparison } = stats
  const { byStatus, money, daysToDecision } = quotes
  const before = comparison?.quotes
  const unconverted = revenue.unconverted.reduce((total, { quotes }) => total + quotes, 0)
  const lostCount = byStatus.rejected + byStatus.expired
  const lostChange =
    before && ratio(subtract(money.lost.amount, before.money.lost.amount), before.money.lost.amount)
  const revenueMetric = (
    <Metric
      name="revenue"
      label={texts.revenue}
      definition="revenue"
      outcome="won"
      value={formats.money(revenue.total)}
      notes={[
        unconverted === 0 ? texts.netOfAccepted : formats.countText(unconverted, texts.withoutRate),
      ]}
      change={<Change ratio={comparison?.change.revenue} />}
      previous={comparison && formats.money(comparison.revenue.total)}
    />
  )
  const counts = (
    <>
      <Metric
        name="quotes"
        label={texts.quotes}
        value={formats.count(quotes.total)}
        change={<Change ratio={comparison?.change.quotes} />}
        previous={before && formats.count(before.total)}
      />
      <Metric
        name="accepted"
        label={texts.accepted}
        value={formats.count(byStatus.accepted)}
        change={<Change ratio={comparison?.change.accepted} />}
        previous={before && formats.count(before.byStatus.accepted)}
      />
    </>
  )
  const daysAndAverage = (
    <>
      <Metric
        name="days"
        label={texts.daysToDecision}
        definition="days"
        value={formats.days(daysToDecision.median)}
        notes={[
          daysToDecision.mean &&
            formats.fill(texts.medianAndMean, { mean: formats.days(daysToDecision.mean) }),
          formats.fill(texts.decidedOnKnownDay, { count: formats.count(daysToDecision.quotes) }),
        ]}
        previous={before && formats.days(before.daysToDecision.median)}
      />
      <Metric
        name="average"
        label={texts.average}
        value={formatAverage(revenue.average)}
        notes={[texts.perAccepted]}
        previous={comparison && formatAverage(comparison.revenue.average)}
      />
    </>
  )
  if (stats.period.date === 'accepted')
    return (
      <dl class="accepted-only">
        {revenueMetric}
        {counts}
        {daysAndAverage}
      </dl>
    )
  return (
    <>
      <OutcomeBar money={money} />
      <dl class="money">
        {revenueMetric}
        {/* Quotes of an earlier period are open no longer, so open amounts are not compared. */}
        <Metric
          name="open"
          label={texts.open}
          definition="open"
          outcome="open"
          value={formats.money(money.open)}
          notes={[formats.fill(texts.sentAndValid, { count: formats.count(byStatus.sent) })]}
        />
        <Metric
          name="lost"
          label={texts.lost}
          definition="lost"
          outcome="lost"
          value={formats.money(money.lost)}
          notes={[formats.fill(texts.rejectedAndExpired, { count: formats.count(lostCount) })]}
          change={<Change ratio={lostChange} isBetterLower />}
          previous={before && formats.money(before.money.lost)}
        />
      </dl>
      <dl class="counts">
        {counts}
        <Metric
          name="acceptance"
          label={texts.acceptance}
          definition="acceptance"
          value={<Acceptance {...stats} />}
        />
        {daysAndAverage}
      </dl>
    </>
  )
}

const formatAverage = (average: Stats['revenue']['average']) =>
  average === null ? '–' : formats.money(average)

function Metric({ name, label, definition, outcome, value, ...details }: MetricProps) {
  const { notes = [], change, previous } = details
  const id = `definition-${definition}`
  return (
    <div class="metric" data-metric={name}>
      <dt>
        {outcome && <span class={`key ${outcome}`} aria-hidden="true" />}
        {definition ? (
          <button type="button" class="term" data-key={id} popovertarget={id} aria-describedby={id}>
            {label}
          </button>
        ) : (
          label
        )}
      </dt>
      <dd class={typeof value === 'string' ? 'value' : 'values'}>{value}</dd>
      {previous && (
        <dd class="previous-value">
          {change}
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

type ChangeProps = { ratio: string | null | undefined; isBetterLower?: boolean }

/** The change since the comparison period, if there is one, and a space. */
const Change = ({ ratio, isBetterLower = false }: ChangeProps) =>
  ratio ? (
    <>
      <ChangeText text={formats.change(ratio)} isBetterLower={isBetterLower} />{' '}
    </>
  ) : null

/** A change with its sign, an arrow and a colour. */
function ChangeText({ text, isBetterLower }: { text: string; isBetterLower: boolean }) {
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
    const change = points && (
      <ChangeText text={formats.fill(texts.points, { points })} isBetterLower={false} />
    )
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
