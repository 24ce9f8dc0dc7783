// The API keys of Meilisearch: the search key of the API and the key of the indexer.
// Meilisearch derives a key from the master key and the key's uid. With fixed uids every machine
// can compute the keys, and nobody has to copy them.
import { createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Key, type KeyCreation, type Meilisearch, MeilisearchApiError } from 'meilisearch'

const searchKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c01'
const indexerKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c02'

/**
 * Returns the key with which the API searches: HMAC-SHA-256 of the uid with the master key, as
 * documented by Meilisearch.
 */
export const deriveSearchKey = (masterKey: string) => deriveKey(masterKey, searchKeyUid)

/** Returns the key of the indexer. It reads and writes indexes, but cannot manage keys. */
export const deriveIndexerKey = (masterKey: string) => deriveKey(masterKey, indexerKeyUid)

const deriveKey = (masterKey: string, uid: string) =>
  createHmac('sha256', masterKey).update(uid).digest('hex')

type NamedKey = KeyCreation & { uid: string; name: string }

const keys: NamedKey[] = [
  {
    uid: searchKeyUid,
    name: 'search',
    description: 'Trade quoting service: the API. Can only search.',
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
  },
  {
    uid: indexerKeyUid,
    name: 'indexer',
    description: 'Trade quoting service: the indexer. Reads and writes indexes.',
    actions: [
      'documents.add',
      'documents.get',
      'documents.delete',
      'indexes.create',
      'indexes.get',
      'indexes.delete',
      'indexes.swap',
      'settings.update',
      'tasks.get',
      'tasks.cancel',
      'stats.get',
      'version',
    ],
    indexes: ['*'],
    expiresAt: null,
  },
]

/**
 * Creates both keys if they do not exist, and replaces one whose rights are not as expected.
 * `client` is opened with the master key. Returns the names of those that were replaced. Throws if
 * the engine does not know the master key.
 */
export async function ensurePermanentKeys(client: Meilisearch): Promise<string[]> {
  const replaced: string[] = []
  for (const key of keys) {
    const existing = await readKey(client, key.uid)
    if (existing && hasSameRights(existing, key)) continue
    // Meilisearch can change only the name and the description of a key.
    if (existing) {
      await client.deleteKey(key.uid).catch(ignoreStatus(404))
      replaced.push(key.name)
    }
    // Another process may have created it at the same time.
    await client.createKey(key).catch(ignoreStatus(409))
  }
  return replaced
}

async function readKey(client: Meilisearch, uid: string): Promise<Key | null> {
  try {
    return await client.getKey(uid)
  } catch (error) {
    const status = error instanceof MeilisearchApiError ? error.response.status : null
    if (status === 404) return null
    if (status !== 403) throw error
    throw new Error('The search engine does not know the key in MEILI_MASTER_KEY', { cause: error })
  }
}

function ignoreStatus(status: number) {
  return (error: unknown) => {
    if (!(error instanceof MeilisearchApiError) || error.response.status !== status) throw error
  }
}

function hasSameRights(existing: Key, key: NamedKey): boolean {
  const areEqual = (some: string[], others: string[]) =>
    isDeepStrictEqual(some.toSorted(), others.toSorted())
  return (
    areEqual(existing.actions, key.actions) &&
    areEqual(existing.indexes, key.indexes) &&
    (existing.expiresAt ?? null) === null
  )
}
