// Keys of the search engine, each for one job. Meilisearch derives a key from the master key and the key's uid, so fixed uids give the same keys
// on every machine: nothing to copy by hand, and they survive a rebuild.
import { createHmac } from 'node:crypto'
import type { Meilisearch } from 'meilisearch'

const searchKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c01'

/** The key that the API searches with: HMAC-SHA-256 of the uid under the master key, as Meilisearch documents for its keys. */
export function searchKey(masterKey: string): string {
  return createHmac('sha256', masterKey).update(searchKeyUid).digest('hex')
}

/** Makes sure that the engine knows the search key. `engine` is opened with the master key. */
export async function ensureSearchKey(engine: Meilisearch): Promise<void> {
  const known = await engine.getKey(searchKeyUid).catch(() => null)
  if (known) return
  await engine.createKey({
    uid: searchKeyUid,
    name: 'search',
    description: 'Trade quoting service: the API. Can only search.',
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
  })
}
