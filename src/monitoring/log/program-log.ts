// Writes log lines to standard output in blocks, and is the log of programs other than the API, in
// the same form: JSON with time and level.
import { destination, pino } from 'pino'
import { redactSecrets } from './log-redaction.ts'

export type LogLevel = 'info' | 'warn' | 'error'

/** Writes a line. The level is `info` if there is none. */
export type LogLine = (line: string, level?: LogLevel) => void

/** Returns a log that writes JSON to standard output, as the API does. */
export function openProgramLog(level: string): LogLine {
  const log = pino({ level }, openLogDestination())
  return (line, lineLevel = 'info') => log[lineLevel](redactSecrets(line))
}

// Writing each line separately costs more than a cached answer.
const logFlushMs = 100

const standardOutput = 1
const blockCharacters = 16_384

/**
 * Returns a pino destination that collects lines and writes them in blocks, because a system call
 * for each line costs more than a cached response. A killed process loses at most the lines of its
 * last 100 ms. The buffer of pino itself is slower.
 */
export function openLogDestination(fd = standardOutput): { write(line: string): void } {
  const file = destination({ dest: fd, sync: true })
  let block = ''
  function writeBlock(): void {
    if (block === '') return
    file.write(block)
    block = ''
  }
  setInterval(writeBlock, logFlushMs).unref()
  process.once('exit', writeBlock)
  return {
    write(line) {
      block += line
      if (block.length >= blockCharacters) writeBlock()
    },
  }
}
