// Adds money by status and the days from issue to decision to the statistics.
import { type Kysely, sql } from 'kysely'
import {
  defineSummary,
  dropSummaryFunctions,
  type Measure,
  measures as measuresBefore,
  netInBase,
} from './0018-stats-definition.ts'

const isDecided = `quote_status in ('accepted', 'rejected') and quote_decided_on is not null`
const decisionDays = 'quote_decided_on - quote_issued_on'
/** Digits of one count in the histogram, and the last day that has a count of its own. */
const histogram = { digits: 8, lastDay: 1000 }

export const newMeasures: Measure[] = [
  {
    name: 'base_sent',
    type: 'numeric',
    ofQuote: `case when quote_status = 'sent' then ${netInBase} end`,
    comment: 'Net of sent quotes that have a rate, in the base currency.',
  },
  {
    name: 'base_lost',
    type: 'numeric',
    ofQuote: `case when quote_status in ('rejected', 'expired') then ${netInBase} end`,
    comment: 'Net of rejected and expired quotes that have a rate, in the base currency.',
  },
  {
    name: 'decided',
    type: 'bigint',
    ofQuote: `case when ${isDecided} then 1 end`,
    comment: 'Accepted and rejected quotes with a known day of decision.',
  },
  {
    name: 'decision_days',
    type: 'bigint',
    ofQuote: `case when ${isDecided} then ${decisionDays} end`,
    comment: 'Sum of the days from issue to decision of the decided quotes.',
  },
  {
    // One number per quote, so that sum() adds histograms exactly. Rows for each day would multiply
    // the rows of the summary by the number of days.
    name: 'decision_histogram',
    type: 'numeric',
    ofQuote: `case when ${isDecided} then
      ('1e' || ${histogram.digits} * least(${decisionDays}, ${histogram.lastDay}))::numeric end`,
    comment:
      `Histogram of the days from issue to decision: the ${histogram.digits} digits at ` +
      `10^(${histogram.digits}d) count the quotes decided after d days, or after ` +
      `${histogram.lastDay} days and more for d = ${histogram.lastDay}.`,
  },
]

export async function up(db: Kysely<unknown>): Promise<void> {
  // Writers wait until the new functions are in place. The lock keeps others from folding.
  await sql`lock table quotes in share row exclusive mode`.execute(db)
  await dropSummaryFunctions(db)
  for (const table of ['quote_figures', 'quote_figures_unfolded'])
    for (const { name, type } of newMeasures)
      await sql`
        alter table ${sql.table(table)} add column ${sql.id(name)} ${sql.raw(type)}
          not null default 0
      `.execute(db)
  await defineSummary(db, [...measuresBefore, ...newMeasures])
  await sql`select rebuild_quote_summary()`.execute(db)
}
