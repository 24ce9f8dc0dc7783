// Keeps secrets out of the log: selects the logged fields and redacts secrets in texts.

const secrets: [pattern: RegExp, replacement: string][] = [
  [/tq([sp])_[A-Za-z0-9_-]+/g, 'tq$1_…'],
  [/(\/quote\/share\/)[^\s"'?#]+/g, '$1…'],
  [/([?&]key=)[^\s"'&#]+/gi, '$1…'],
  [/(:\/\/)[^\s/@"']+@/g, '$1…@'],
  [/(bearer\s+)[^\s"',]+/gi, '$1…'],
]

/** Returns the text without API keys, tokens of quote links and passwords in URLs. */
export function redactSecrets(text: string): string {
  return secrets.reduce(
    (redacted, [pattern, replacement]) => redacted.replace(pattern, replacement),
    text,
  )
}

type LoggedError = {
  type: string
  message: string
  stack: string
  code?: string
  cause?: LoggedError
}

/** Bounds the causes of a log line, because an error can be the cause of itself. */
const maxLoggedCauses = 5

/** Returns the fields of an error, without secrets, with those of its causes. */
function serializeError(error: unknown, maxCauses = maxLoggedCauses): LoggedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: redactSecrets(String(error)), stack: '' }
  const { name, message, stack = '', cause } = error
  return {
    type: name,
    message: redactSecrets(message),
    stack: redactSecrets(stack),
    ...('code' in error && { code: String(error.code) }),
    ...(cause !== undefined && maxCauses > 0 && { cause: serializeError(cause, maxCauses - 1) }),
  }
}

/** Serialisers for pino. They never log the URL or the headers of a request. */
export const logSerializers = {
  err: (error: unknown): LoggedError => serializeError(error),
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
