// Describes an error in one line for logs and the command line.
import { redactSecrets } from './log/log-redaction.ts'

/**
 * Returns the message of an error. For a failed request to the search engine it adds the cause and
 * removes passwords and the query string, which may be long.
 */
export function describeError(error: unknown): string {
  // Node throws this if it has tried several addresses of a host.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(describeError).join('; ')
  if (!(error instanceof Error)) return String(error)
  const { name, message, cause } = error
  if (message === 'fetch failed' && cause !== undefined) return describeError(cause)
  // The message of the Meilisearch client does not include the cause.
  if (name === 'MeilisearchRequestError')
    return withoutQueryStrings(redactSecrets(`${message}: ${describeError(cause)}`))
  return message || error.constructor.name
}

function withoutQueryStrings(text: string): string {
  return text.replace(/(https?:\/\/[^\s?]+)\?\S*/g, '$1')
}
