// Where log lines go: to a stream in blocks instead of one system call each, which costs more than answering.
import { writeSync } from 'node:fs'

const flushEveryMs = 100
const flushAtCharacters = 16_384

/**
 * A destination for pino that writes its lines to `stream` in blocks, at the latest after 100 ms, and what is left when the process exits. Only a
 * process that is killed loses lines, those of its last moment.
 */
export function bufferedLog(stream: { fd: number; write(text: string): unknown }): { write(line: string): void } {
  let waiting = ''
  let timer: NodeJS.Timeout | null = null

  function flush(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const text = waiting
    waiting = ''
    stream.write(text)
  }
  process.once('exit', () => {
    if (waiting !== '') writeSync(stream.fd, waiting)
  })

  return {
    write(line) {
      waiting += line
      if (waiting.length >= flushAtCharacters) flush()
      else timer ??= setTimeout(flush, flushEveryMs).unref()
    },
  }
}
