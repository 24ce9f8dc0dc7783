// What an import prints: its progress, its result, and the exit status.
import { clearLine, cursorTo } from 'node:readline'
import type { FileKind } from '../../src/imports/file-kinds.ts'
import type { ProductsSummary } from '../../src/imports/import-products.ts'
import type { ImportStep, LockHolder } from '../../src/imports/import-transaction.ts'
import { describeWarning } from '../../src/imports/import-warnings.ts'
import type { WordsSummary } from '../../src/imports/import-words.ts'
import type { QuotesSummary } from '../../src/imports/quotes/import-quotes.ts'
import type { ImportSummary } from '../../src/imports/run-import.ts'
import { countNoun, formatCount } from '../../src/text/count-noun.ts'

export type Progress = {
  onProgress(rows: number): void
  onStep(step: ImportStep, holder?: LockHolder): void
  end(): void
}

const terminalIntervalMs = 200
const logIntervalMs = 5_000
const barLength = 30

/**
 * Writes the progress to standard error until `end` is called. `fractionRead` returns the fraction
 * of the file that has been read, or undefined if it is unknown.
 */
export function showProgress(kind: FileKind, fractionRead: () => number | undefined): Progress {
  const { stderr } = process
  const startedAt = performance.now()
  let rows = 0
  let step: ImportStep | 'opening' = 'opening'
  let stepStartedAt = startedAt
  let lockHolder: LockHolder | undefined
  const intervalMs = stderr.isTTY ? terminalIntervalMs : logIntervalMs
  const timer = setInterval(draw, intervalMs).unref()

  function draw(): void {
    if (!stderr.isTTY) {
      stderr.write(`${formatStatus()}\n`)
      return
    }
    clearLine(stderr, 0)
    cursorTo(stderr, 0)
    const fraction = step === 'reading' ? fractionRead() : undefined
    stderr.write(`${formatBar(fraction)}${formatStatus()}`)
  }

  function formatStatus(): string {
    const seconds = (performance.now() - startedAt) / 1000
    const rowsPerSecond = formatCount(Math.round(rows / seconds))
    const rate = step === 'reading' ? `, ${rowsPerSecond} rows/s` : ''
    const waitSeconds = (performance.now() - stepStartedAt) / 1000
    const text =
      step === 'waiting'
        ? `waiting for another import of ${kind} to end${describeHolder(lockHolder, waitSeconds)}`
        : step
    return `${text}: ${formatCount(rows)} rows${rate}, ${Math.round(seconds)} s`
  }

  return {
    onProgress(rowsRead) {
      rows = rowsRead
    },
    onStep(nextStep, holder) {
      step = nextStep
      stepStartedAt = performance.now()
      lockHolder = holder
    },
    end() {
      clearInterval(timer)
      if (!stderr.isTTY) return
      clearLine(stderr, 0)
      cursorTo(stderr, 0)
    },
  }
}

function describeHolder(holder: LockHolder | undefined, waitSeconds: number): string {
  if (!holder) return ''
  const { processId, role, ageSeconds } = holder
  const age =
    ageSeconds === null
      ? ''
      : `, running for ${formatCount(Math.round(ageSeconds + waitSeconds))} s`
  return ` (process ${processId} of PostgreSQL, role ${role}${age})`
}

function formatBar(fraction: number | undefined): string {
  if (fraction === undefined) return ''
  const shownFraction = Math.min(fraction, 1)
  const filled = Math.round(shownFraction * barLength)
  const bar = '#'.repeat(filled) + '.'.repeat(barLength - filled)
  return `[${bar}] ${Math.floor(shownFraction * 100)} %  `
}

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
