// summary-query.sql shows the statements that summary-query.ts makes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeStatements } from '../../../scripts/stats-sql.ts'

const file = join(import.meta.dirname, '../../../src/stats/summary/summary-query.sql')

t.test('summary-query.sql shows the statements of today', async (t) => {
  t.equal(
    readFileSync(file, 'utf8'),
    describeStatements(),
    'if this fails, run `node scripts/stats-sql.ts` and commit summary-query.sql',
  )
})
