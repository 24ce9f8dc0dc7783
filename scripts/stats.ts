// The summary that figures are read from: whether it is right, and how to make it afresh.
import { toLocalDate } from '../src/company/calendar.ts'
import { checkCompany, readCompany } from '../src/company/company.ts'
import { readMigrateConfig } from '../src/config.ts'
import { openDatabase } from '../src/database/postgres-pool.ts'
import { foldBatch, rebuildSummary } from '../src/stats/fold-deltas.ts'
import { findDifferences } from '../src/stats/verify-summary.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/stats.ts verify | rebuild | fold

  verify   compares the summary with a plain computation over all quotes, in one snapshot. Prints what differs and exits 1 if anything does.
           Reads every quote: some seconds for a million.
  rebuild  makes the summary afresh from the quotes, in one transaction. Writers and readers go on meanwhile. Needed after writing quotes with
           triggers switched off.
  fold     folds what writers appended, as the API does every second while it runs.

Reads DATABASE_URL and COMPANY_FILE. After Ctrl+C a rebuild has happened as a whole or not at all.
`

await runCommand(help, {}, async (_options, [action, ...others]) => {
  if (!action || others.length > 0) throw new UsageError('Say what to do: verify, rebuild or fold.')
  if (!['verify', 'rebuild', 'fold'].includes(action))
    throw new UsageError(`There is no action ${action}: use verify, rebuild or fold.`)
  const config = readMigrateConfig()
  const company = readCompany(config.COMPANY_FILE)
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    await checkCompany(db, company)
    if (action === 'verify') {
      const differences = await findDifferences(
        db,
        company,
        toLocalDate(company.timeZone, new Date()),
      )
      if (differences.length === 0) {
        console.log('The summary is right: it equals a plain computation over all quotes.')
        return 0
      }
      for (const difference of differences) console.error(`Different: ${difference}`)
      console.error('The summary is wrong: run `node scripts/stats.ts rebuild`.')
      return 1
    }
    if (action === 'rebuild') {
      await rebuildSummary(db)
      console.log('The summary is made afresh.')
      return 0
    }
    let folded = 0
    for (let batch = await foldBatch(db); batch > 0; batch = await foldBatch(db)) {
      folded += batch
      console.log(`Folded ${folded} changes.`)
    }
    console.log('Nothing is left to fold, or another process is folding.')
    return 0
  } finally {
    await db.destroy()
  }
})
