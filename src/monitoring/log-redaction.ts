// The log: what of a request and of an error is written, and where lines go: to a stream in blocks, since a system call each costs more than answering.
import { writeSync } from 'node:fs'

const flushEveryMs = 100
const flushAtCharacters = 16_384

/**
 * A destination for pino that writes its lines to `stream` in blocks, at the latest after 100 ms, and what is left when the process exits. Only a
 * process that is killed loses lines, those of its last moment.
 */
export function bufferedLog(stream: { fd: number; write(text: string): unknown }): {
  write(line: string): void
} {
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

const secrets: [RegExp, string][] = [
  [/tq([sp])_[A-Za-z0-9_-]+/g, 'tq$1_…'],
  [/(\/quote\/share\/)[^\s"'?#]+/g, '$1…'],
  [/([?&]key=)[^\s"'&#]+/gi, '$1…'],
  [/(:\/\/)[^\s/@"']+@/g, '$1…@'],
  [/(bearer\s+)[^\s"',]+/gi, '$1…'],
]

/** The text without keys, tokens of links and passwords in addresses. */
export function redacted(text: string): string {
  return secrets.reduce((done, [pattern, instead]) => done.replace(pattern, instead), text)
}

/** What the log keeps of what is logged: of an error no more than its message, code and stack, of a request never its address or headers. */
export const logSerializers = {
  err(error: unknown): { type: string; message: string; stack: string; code?: string } {
    if (!(error instanceof Error))
      return { type: typeof error, message: redacted(String(error)), stack: '' }
    const { name, message, stack = '' } = error
    return {
      type: name,
      message: redacted(message),
      stack: redacted(stack),
      ...('code' in error && { code: String(error.code) }),
    }
  },
  req({
    method = '',
    routeOptions,
  }: {
    method?: string
    routeOptions?: { url?: string | undefined }
  }) {
    return { method, route: routeOptions?.url ?? null }
  },
  res({ statusCode = 0 }: { statusCode?: number | undefined }) {
    return { statusCode }
  },
}
