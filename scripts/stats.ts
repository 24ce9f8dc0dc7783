// Verifies, rebuilds or folds the summary from which statistics are read.
import { toLocalDate } from '../src/company/calendar.ts'
import { type Company, checkCompany, readCompany } from '../src/company/company.ts'
import { readMigrateConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import { foldBatch, rebuildSummary } from '../src/stats/summary/fold-deltas.ts'
import { findDifferences } from '../src/stats/summary/verify-summary.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/stats.ts verify | rebuild | fold

  verify   Compares the summary with a computation over all quotes, in one snapshot.
           Prints each difference and exits with status 1 if there is one.
           It reads every quote, which takes some seconds for a million quotes.
  rebuild  Rebuilds the summary from the quotes, in one transaction, without blocking
           writers or readers. Needed after quotes were written with disabled triggers.
  fold     Folds the deltas that writers appended. A running API does this every second.

Reads DATABASE_URL and COMPANY_FILE. If Ctrl+C interrupts a rebuild, it has either completed or
changed nothing.
`

const actions: Record<string, (db: Database, company: Company) => Promise<number>> = {
  verify,
  rebuild,
  fold,
}

await runCommand(help, {}, async (_options, [name, ...others]) => {
  if (!name || others.length > 0) throw new UsageError('Name one action: verify, rebuild or fold.')
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (!action) throw new UsageError(`Unknown action ${name}: use verify, rebuild or fold.`)
  const config = readMigrateConfig()
  const company = readCompany(config.COMPANY_FILE)
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    await checkCompany(db, company)
    return await action(db, company)
  } finally {
    await db.destroy()
  }
})

async function verify(db: Database, company: Company): Promise<number> {
  const differences = await findDifferences(db, company, toLocalDate(company.timeZone, new Date()))
  if (differences.length === 0) {
    console.log('The summary is correct: it agrees with all quotes.')
    return 0
  }
  for (const difference of differences) console.error(`Different: ${difference}`)
  console.error('The summary is wrong: run `node scripts/stats.ts rebuild`.')
  return 1
}

async function rebuild(db: Database): Promise<number> {
  await rebuildSummary(db)
  console.log('The summary is rebuilt.')
  return 0
}

async function fold(db: Database): Promise<number> {
  let folded = 0
  for (let batch = await foldBatch(db); batch > 0; batch = await foldBatch(db)) {
    folded += batch
    console.log(`Folded ${folded} deltas.`)
  }
  console.log('No deltas are left, or another process is folding.')
  return 0
}
