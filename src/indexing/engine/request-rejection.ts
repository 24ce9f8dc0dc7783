// Recognises requests that the engine rejects because of their contents or size, and says which
// setting to change.
import { MeilisearchApiError } from 'meilisearch'
import { describeError } from '../../monitoring/describe-error.ts'
import { toSentence } from '../../text/to-sentence.ts'

/**
 * For requests with a large body: the connection is closed afterwards. An engine that rejects such
 * a request before it has read all of it, for example because its disk is full or the request is
 * too large, does not answer the next request on the same connection.
 */
export const onOwnConnection = { headers: { connection: 'close' } }

/** Whether the engine rejected a request because of its size. */
export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof MeilisearchApiError)) return false
  // Meilisearch answers 413 to documents, and an internal error to everything else.
  return error.response.status === 413 || /is larger than allowed/.test(error.message)
}

/** Whether the engine rejected a request because of its contents or its size. */
export const isRequestRejected = (error: unknown) =>
  isTooLarge(error) || (error instanceof MeilisearchApiError && error.response.status === 400)

/** Returns the message of any error. If a request was too large, it also says what to do. */
export function describeErrorWithAdvice(error: unknown): string {
  const message = describeError(error)
  if (!isTooLarge(error)) return message
  return `${toSentence(message)} Raise MEILI_HTTP_PAYLOAD_SIZE_LIMIT of Meilisearch`
}
