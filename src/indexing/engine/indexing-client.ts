// The Meilisearch client of the indexer and the scripts: the official SDK. The API searches with a
// smaller and faster client (search-engine/search-client.ts).
import { Meilisearch } from 'meilisearch'

/**
 * Creates a Meilisearch client. It does not have to be closed. `timeoutMs` limits each request;
 * the default is no limit.
 */
export function openIndexingClient(
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
