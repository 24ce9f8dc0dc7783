// Writes log lines to standard output in blocks.
import { destination } from 'pino'
import { timeouts } from '../../timeouts.ts'

const standardOutput = 1
const blockCharacters = 16_384

/**
 * Returns a pino destination that writes blocks, because a system call for each line costs more
 * than a cached answer. A block is written after at most 100 ms, and when the process exits. Only
 * a killed process loses lines, namely those of its last 100 ms.
 *
 * The lines are not collected by pino, because it measures its whole buffer at each line. At the
 * best size of its blocks a line costs 1.7 µs of processor time instead of 1.1 µs
 * (scripts/bench/compare-log-destinations.ts), and a cached answer 7 % more.
 */
export function openLogDestination(fd = standardOutput): { write(line: string): void } {
  const file = destination({ dest: fd, sync: true })
  let block = ''
  function writeBlock(): void {
    if (block === '') return
    file.write(block)
    block = ''
  }
  setInterval(writeBlock, timeouts.monitoring.logFlush.ms).unref()
  process.once('exit', writeBlock)
  return {
    write(line) {
      block += line
      if (block.length >= blockCharacters) writeBlock()
    },
  }
}
