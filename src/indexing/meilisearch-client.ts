// The Meilisearch client of the indexer and of scripts: the official SDK.
import { Meilisearch } from 'meilisearch'

/** A Meilisearch client for the indexer and scripts. Holds no connection that needs closing. `timeoutMs` is for each request; default none. */
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
