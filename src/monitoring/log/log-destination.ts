// Writes log lines to standard output in blocks.
import { destination } from 'pino'

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
