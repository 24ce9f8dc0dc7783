// Shows the progress of an import: one line that is rewritten on a terminal, else a line every 5 s.
import { clearLine, cursorTo } from 'node:readline'
import type { FileKind } from '../../src/imports/file-kinds.ts'
import type { ImportStep, LockHolder } from '../../src/imports/import-transaction.ts'
import { formatCount } from '../../src/text/count-noun.ts'

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
