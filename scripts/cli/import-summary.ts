// Describes the result of an import for the command line, and its exit status.

import type { FileKind } from '../../src/imports/file-kinds.ts'
import type { ProductsSummary } from '../../src/imports/import-products.ts'
import { describeWarning } from '../../src/imports/import-warnings.ts'
import type { WordsSummary } from '../../src/imports/import-words.ts'
import type { QuotesSummary } from '../../src/imports/quotes/import-quotes.ts'
import type { ImportSummary } from '../../src/imports/run-import.ts'
import { countNoun, formatCount } from '../../src/text/count-noun.ts'

/** The summary of an import of any kind. */
export type AnySummary = ImportSummary &
  Partial<ProductsSummary> &
  Partial<QuotesSummary> &
  Partial<WordsSummary>

const exitStatuses = { imported: 0, warned: 3, rejected: 4 }
const maxListedSkus = 20

/** Returns 4 if rows were rejected, 3 if there are warnings, and otherwise 0. */
export function exitStatusOf({ rejected, warnings }: ImportSummary): number {
  if (rejected > 0) return exitStatuses.rejected
  return warnings.length > 0 ? exitStatuses.warned : exitStatuses.imported
}

/** Returns the summary as several lines of text. */
export function describeSummary(
  kind: FileKind,
  summary: AnySummary,
  {
    seconds,
    rejectsFile,
    isDryRun,
  }: { seconds: number; rejectsFile: string | undefined; isDryRun: boolean },
): string {
  const { readAs, read, inserted, updated, unchanged, rejected, warnings } = summary
  const { rejectedQuotes, superseded, customers, deleted } = summary
  const memoryMb = Math.round(process.resourceUsage().maxRSS / 1000)
  const duration = `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`
  const rate = `${formatCount(Math.round(read / seconds))} rows/s`
  const counts = [
    `${formatCount(inserted)} inserted`,
    `${formatCount(updated)} updated`,
    `${formatCount(unchanged)} unchanged`,
    ...(deleted === undefined ? [] : [`${formatCount(deleted)} deleted`]),
    ...(rejectedQuotes === undefined ? [] : [`${formatCount(rejectedQuotes)} rejected`]),
  ]
  return [
    `Read as ${readAs}.`,
    `${countNoun(read, 'row')} read, ${formatCount(rejected)} rejected, ` +
      `in ${duration} (${rate}, ${memoryMb} MB of memory).`,
    `${kind}: ${counts.join(', ')}.`,
    ...(isDryRun ? ['Nothing was written: this is what the import would do (--dry-run).'] : []),
    ...describeDeactivated(summary),
    ...(superseded
      ? [
          countNoun(
            superseded,
            'older version is superseded now.',
            'older versions are superseded now.',
          ),
        ]
      : []),
    ...(customers ? [`${countNoun(customers, 'customer')} created.`] : []),
    ...(read === 0 ? ['The file has a header but no rows: nothing to import.'] : []),
    ...warnings.map(describeWarning),
    ...(rejectsFile
      ? [`The rejected rows are in ${rejectsFile}, with their lines and the reasons.`]
      : []),
  ].join('\n')
}

function describeDeactivated({ deactivated = 0, deactivatedSkus = [] }: AnySummary): string[] {
  if (deactivated === 0) return []
  const listed = deactivatedSkus.slice(0, maxListedSkus)
  const rest = deactivated - listed.length
  const list = listed.join(', ') + (rest > 0 ? ` and ${formatCount(rest)} more` : '')
  return [
    `${formatCount(deactivated)} made inactive, because the file does not have them: ${list}.`,
  ]
}
