// Verifies, rebuilds or folds the summary from which statistics are read.
import { readCompany } from '../src/company/company-file.ts'
import { checkCompany } from '../src/company/company-record.ts'
import { readStatsConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import {
  findQuotesWithWrongTotals,
  findSummaryDifferences,
  rebuildSummary,
} from '../src/stats/summary/check-months.ts'
import { foldStatistics } from '../src/stats/summary/fold-statistics.ts'
import { chooseByName, runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/stats.ts verify | rebuild | fold

  verify   Compares the summary with the quotes, month by month, and the amounts of each quote
           with the totals of its lines. Prints the differences and exits with status 1 if there
           is one. It reads every quote, which takes a minute for a million quotes.
  rebuild  Recomputes the summary from the quotes, in one transaction, without blocking
           writers or readers. A running API does the same month by month.
  fold     Folds the changes that writers appended. A running API does this by itself.

Reads DATABASE_URL and COMPANY_FILE. If Ctrl+C interrupts a rebuild, it has either completed or
changed nothing.
`

const actions = { verify, rebuild, fold }

await runCommand(help, {}, async (_options, [name, ...others], { env }) => {
  const action = chooseByName(actions, name, 'action')
  if (others.length > 0) throw new UsageError(`Unexpected argument: ${others[0]}`)
  const config = readStatsConfig(env)
  const company = readCompany(config.COMPANY_FILE)
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    await checkCompany(db, company)
    return await action(db)
  } finally {
    await db.destroy()
  }
})

async function verify(db: Database): Promise<number> {
  const differences = await findSummaryDifferences(db)
  const wrongTotals = await findQuotesWithWrongTotals(db)
  for (const difference of [...differences, ...wrongTotals])
    console.error(`Different: ${difference}`)
  if (differences.length > 0)
    console.error(
      'The summary is wrong. Look for the cause before you run `scripts/run stats rebuild`, ' +
        'which removes the wrong rows: see StatsDrift in docs/operations/runbook.md.',
    )
  if (wrongTotals.length > 0)
    console.error(
      'The amounts of these quotes are not the totals of their lines: ' +
        'set net, tax and gross to what the function quote_totals returns.',
    )
  if (differences.length + wrongTotals.length > 0) return 1
  console.log('The summary agrees with all quotes, and all quotes with their lines.')
  return 0
}

async function rebuild(db: Database): Promise<number> {
  await rebuildSummary(db)
  console.log('The summary is rebuilt.')
  return 0
}

async function fold(db: Database): Promise<number> {
  await foldStatistics(db)
  console.log('No changes are left, or another process is folding.')
  return 0
}
