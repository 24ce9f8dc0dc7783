// The Meilisearch client of the indexer and the scripts: the official SDK. The API searches with a
// smaller and faster client (search-engine/search-client.ts).
import { Meilisearch } from 'meilisearch'

// Detects a server that no longer responds. The largest upload takes far less.
export const indexingRequestTimeout = { ms: 300_000 }

/**
 * Creates a Meilisearch client. It does not have to be closed. `timeoutMs` limits each request. The
 * SDK itself has no limit, so an indexer could wait for ever, and renew its lease meanwhile.
 */
export function openIndexingClient(
  url: string,
  apiKey: string,
  { timeoutMs = indexingRequestTimeout.ms }: { timeoutMs?: number } = {},
): Meilisearch {
  return new Meilisearch({ host: url, apiKey, timeout: timeoutMs })
}
