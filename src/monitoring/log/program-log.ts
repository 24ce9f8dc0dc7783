// The log of programs other than the API, in the same form: JSON with time and level.
import { pino } from 'pino'
import { openLogDestination } from './log-destination.ts'
import { redactSecrets } from './log-redaction.ts'

export type LogLevel = 'info' | 'warn' | 'error'

/** Writes a line. The level is `info` if there is none. */
export type LogLine = (line: string, level?: LogLevel) => void

/** Returns a log that writes JSON to standard output, as the API does. */
export function openProgramLog(level: string): LogLine {
  const log = pino({ level }, openLogDestination())
  return (line, lineLevel = 'info') => log[lineLevel](redactSecrets(line))
}
