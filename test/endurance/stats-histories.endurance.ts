// Compares the statistics with a plain computation over random histories. STATS_HISTORIES sets how
// many (1,500). test/stats/summary/summary.test.ts does the same with 20.
import t from 'tap'
import { checkHistories } from '../stats/random-histories/random-quote-histories.ts'
import { testDatabase } from '../support/database/test-database.ts'

const count = Number(process.env.STATS_HISTORIES || 1_500)
/** Twenty times what one takes on two idle cores. */
const timeoutMs = count * 2_000

t.setTimeout(timeoutMs)
t.test(
  `the statistics are as expected after ${count} random histories`,
  { timeout: timeoutMs },
  async (t) => {
    const { db, pool } = await testDatabase(t)
    t.equal(await checkHistories({ db, pool }, { numRuns: count }), count)
  },
)
