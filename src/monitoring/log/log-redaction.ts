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

/** Serialisers for pino. They never log the URL or the headers of a request. */
export const logSerializers = {
  err(error: unknown): { type: string; message: string; stack: string; code?: string } {
    if (!(error instanceof Error))
      return { type: typeof error, message: redactSecrets(String(error)), stack: '' }
    const { name, message, stack = '' } = error
    return {
      type: name,
      message: redactSecrets(message),
      stack: redactSecrets(stack),
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
