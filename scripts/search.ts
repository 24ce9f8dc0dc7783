// Reports what people search for.
import { readDatabaseConfig } from '../src/config.ts'
import { openDatabase } from '../src/database/postgres-pool.ts'
import {
  maxReportDays,
  type ReportedText,
  readSearchReport,
  type SearchReport,
} from '../src/search-report/report.ts'
import { formatCount } from '../src/text/count-noun.ts'
import {
  alignColumns,
  chooseByName,
  defineProgram,
  parseWholeNumber,
  processContext,
  UsageError,
} from './cli/command.ts'

const help = `
Usage: node scripts/search.ts report [--days 30]

report prints what people searched for: how many searches found nothing, the most frequent queries,
the most frequent queries without a result, and words that no product has. Add synonyms, pins or
products for them (scripts/run import --help).

  --days    how many days (UTC), up to ${maxReportDays}, today included (default: 30)

A search counts if its caller stayed on it: not every keystroke. A text is kept, and reported, only
after five different addresses or keys have searched for it within 30 days. Texts that look like
personal data, such as e-mail addresses and telephone numbers, are never counted. The counts are a
sample if there are very many callers. SEARCH_REPORT=false counts nothing.

Reads DATABASE_URL.
`

export const search = defineProgram(
  help,
  { days: { type: 'string', default: '30' } },
  async ({ days }, [command, ...words], { env, printLine }) => {
    chooseByName({ report: true }, command, 'command')
    if (words.length > 0) throw new UsageError(`Unexpected argument: ${words[0]}`)
    const dayCount = parseWholeNumber('--days', days, maxReportDays)
    const db = openDatabase(readDatabaseConfig(env).DATABASE_URL, { connections: 1 })
    try {
      printLine(formatReport(await readSearchReport(db, dayCount)))
      return 0
    } finally {
      await db.destroy()
    }
  },
)

function formatReport(report: SearchReport): string {
  const { from, searches, withoutResult, frequent, unsuccessful, unknownWords } = report
  if (searches === 0) return `No search was counted since ${from}.`
  const share = ((withoutResult / searches) * 100).toFixed(1)
  return [
    `Since ${from}: ${formatCount(searches)} searches, ` +
      `${formatCount(withoutResult)} without a result (${share} %).`,
    ...formatTexts('Most frequent queries', frequent),
    ...formatTexts('Queries without a result', unsuccessful),
    ...formatTexts('Words that no product has', unknownWords),
  ].join('\n')
}

function formatTexts(title: string, texts: ReportedText[]): string[] {
  if (texts.length === 0) return ['', `${title}: none that five callers searched for.`]
  const rows = texts.map(({ text, searches, withoutResult }) => [
    formatCount(searches),
    formatCount(withoutResult),
    text,
  ])
  return ['', `${title}:`, alignColumns([['searches', 'without result', 'text'], ...rows])]
}

if (import.meta.main) process.exitCode = await search(processContext)
