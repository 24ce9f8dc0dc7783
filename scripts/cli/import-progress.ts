// Shows how far an import is: one line that is rewritten on a terminal, a line every few seconds elsewhere.
import { clearLine, cursorTo } from 'node:readline'

export type Progress = { onProgress(rows: number): void; onStep(step: string): void; end(): void }

const terminalMs = 200
const elsewhereMs = 5_000
const barLength = 30

/** Writes to standard error until `end`. `fractionRead` tells how much of the file has been read, where that is known. */
export function showProgress(fractionRead: () => number | undefined): Progress {
  const { stderr } = process
  const started = performance.now()
  let rows = 0
  let step = 'opening'
  const timer = setInterval(draw, stderr.isTTY ? terminalMs : elsewhereMs).unref()

  function draw(): void {
    if (!stderr.isTTY) {
      stderr.write(`${status()}\n`)
      return
    }
    clearLine(stderr, 0)
    cursorTo(stderr, 0)
    stderr.write(`${bar(step === 'reading' ? fractionRead() : undefined)}${status()}`)
  }

  function status(): string {
    const seconds = (performance.now() - started) / 1000
    const rate =
      step === 'reading' ? `, ${Math.round(rows / seconds).toLocaleString('en')} rows/s` : ''
    return `${step}: ${rows.toLocaleString('en')} rows${rate}, ${Math.round(seconds)} s`
  }

  return {
    onProgress(read) {
      rows = read
    },
    onStep(next) {
      step = next
    },
    end() {
      clearInterval(timer)
      if (!stderr.isTTY) return
      clearLine(stderr, 0)
      cursorTo(stderr, 0)
    },
  }
}

function bar(fraction: number | undefined): string {
  if (fraction === undefined) return ''
  const filled = Math.round(Math.min(fraction, 1) * barLength)
  return `[${'#'.repeat(filled)}${'.'.repeat(barLength - filled)}] ${Math.floor(Math.min(fraction, 1) * 100)} %  `
}
