// Compares the statistics with a plain computation over as many random histories as fit in four
// minutes, some thousands. test/stats/summary/summary.test.ts does the same with 40.
import t from 'tap'
import { checkHistories } from '../stats/random-histories/random-quote-histories.ts'
import { testDatabase } from '../support/test-service.ts'

// Of the whole file: tap's own limit leaves too little for a machine with other work.
t.setTimeout(900_000)
t.test(
  'the statistics are as expected after thousands of random histories',
  { timeout: 900_000 },
  async (t) => {
    const { db, pool } = await testDatabase(t)
    const played = await checkHistories(
      { db, pool },
      { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: 240_000 },
    )
    t.ok(played > 1_000, `${played} histories`)
    console.error(`${played} histories`)
  },
)
