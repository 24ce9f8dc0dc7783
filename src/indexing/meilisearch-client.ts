// Creates the Meilisearch client of the indexer and the scripts with the official SDK.
import { Meilisearch } from 'meilisearch'

/**
 * Creates a Meilisearch client. It does not have to be closed. `timeoutMs` limits each request;
 * the default is no limit.
 */
export function openEngine(
  url: string,
  apiKey: string,
  { timeoutMs }: { timeoutMs?: number } = {},
): Meilisearch {
  return new Meilisearch({
    host: url,
    apiKey,
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  })
}
