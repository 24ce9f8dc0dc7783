// Why something failed, in one line for logs and the command line.
import { redacted } from './log-redaction.ts'

/** What happened; of a request to the engine also where and what is behind it, without passwords and without its query, which may be long. */
export function causeOf(error: unknown): string {
  // So many addresses were tried, and none of them answered.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(causeOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  const { name, message, cause } = error
  if (message === 'fetch failed' && cause !== undefined) return causeOf(cause)
  // Of the engine's client, which keeps the reason to itself.
  if (name === 'MeilisearchRequestError')
    return redacted(`${message}: ${causeOf(cause)}`).replace(/(https?:\/\/[^\s?]+)\?\S*/g, '$1')
  return message || error.constructor.name
}
