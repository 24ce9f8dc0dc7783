// Thousands of random histories against the plain computation: the long form of what test/stats-figures.test.ts tries on a few hundred.
import t from 'tap'
import { findDifferences } from '../../src/stats/verify.ts'
import { company, testDatabase } from '../helper.ts'
import { checkHistories } from '../stats-histories.ts'

t.test('figures equal a plain computation after thousands of random histories', { timeout: 3_600_000 }, async (t) => {
  const { db, pool } = await testDatabase(t)
  await checkHistories({ db, pool }, { numRuns: 4_000 })
  t.same(await findDifferences(db, company, '2026-11-21'), [])
})
