// Logs for code that is tested without the service.
import type { TaskLog } from '../../src/monitoring/log/failure-log.ts'

export const silentLog: TaskLog = { error: () => undefined, info: () => undefined }

/** Returns a log, and the lines that are written to it. Each begins with its level. */
export function collectLines(): { lines: string[]; log: TaskLog } {
  const lines: string[] = []
  const log = {
    error: (text: string) => lines.push(`error: ${text}`),
    info: (text: string) => lines.push(`info: ${text}`),
  }
  return { lines, log }
}
