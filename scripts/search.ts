// Reports what people search for.
import { readDatabaseConfig } from '../src/config.ts'
import { openDatabase } from '../src/database/postgres-pool.ts'
import { maxReportDays } from '../src/search-report/read-report.ts'
import { chooseByName, parseWholeNumber, runCommand, UsageError } from './cli/command.ts'
import { formatSearchReport, formatSearchReportAsCsv } from './cli/search-report-table.ts'

const help = `
Usage: node scripts/search.ts report [--days 30] [--format table|csv]

report prints what people searched for: how many searches found nothing, the most frequent queries,
the most frequent queries without a result, and words that no product has. Add synonyms, pins or
products for them (scripts/run import --help).

  --days    how many days, up to ${maxReportDays}, today included (default: 30)
  --format  table: the totals of these days. csv: the counts of each day (UTC), with the columns
            day, kind (all, query or word), text, searches and without_result. Default: table

A search counts if its caller stayed on it: not every keystroke. A text is kept, and reported, only
after five different addresses or keys have searched for it within 30 days. Texts that look like
personal data, such as e-mail addresses and telephone numbers, are never counted. The counts are a
sample if there are very many callers. SEARCH_REPORT=false counts nothing.

Reads DATABASE_URL.
`

const options = {
  days: { type: 'string', default: '30' },
  format: { type: 'string', default: 'table' },
} as const

await runCommand(help, options, async ({ days, format }, [command, ...words]) => {
  chooseByName({ report: true }, command, 'command')
  if (words.length > 0) throw new UsageError(`Unexpected argument: ${words[0]}`)
  const dayCount = parseWholeNumber('--days', days, maxReportDays)
  const formats = { table: formatSearchReport, csv: formatSearchReportAsCsv }
  const formatReport = chooseByName(formats, format, '--format')
  const db = openDatabase(readDatabaseConfig().DATABASE_URL, { connections: 1 })
  try {
    console.log(await formatReport(db, dayCount))
    return 0
  } finally {
    await db.destroy()
  }
})
