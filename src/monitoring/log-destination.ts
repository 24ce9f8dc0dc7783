// Writes log lines to standard output in blocks.
import { destination } from 'pino'
import { timeouts } from '../timeouts.ts'

const standardOutput = 1
/** Larger blocks are slower: pino measures the whole buffer at each line. */
const blockCharacters = 2_048

/**
 * Returns a pino destination that writes blocks, because a system call for each line costs more
 * than a cached answer. A block is written after at most 100 ms, and when the process exits. Only
 * a killed process loses lines, namely those of its last 100 ms.
 */
export function openLogDestination(): { write(line: string): void } {
  const log = destination({
    dest: standardOutput,
    minLength: blockCharacters,
    periodicFlush: timeouts.monitoring.logFlush.ms,
    sync: true,
  })
  process.once('exit', () => log.flushSync())
  return log
}
