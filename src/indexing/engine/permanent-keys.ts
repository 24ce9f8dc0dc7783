// The permanent API keys of Meilisearch: the search key and the indexer's key.
// Meilisearch derives a key from the master key and the key's uid. With fixed uids every machine
// can compute the keys, and nobody has to copy them.
import { createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Key, type KeyCreation, type Meilisearch, MeilisearchApiError } from 'meilisearch'

/** The setting that contains the key of a client that manages keys. */
type KeySetting = 'MEILI_MASTER_KEY' | 'MEILI_INDEXER_KEY'

const searchKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c01'
const indexerKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c02'

/**
 * Returns the key with which the API searches: HMAC-SHA-256 of the uid with the master key, as
 * documented by Meilisearch.
 */
export function deriveSearchKey(masterKey: string): string {
  return deriveKey(masterKey, searchKeyUid)
}

/** Returns the indexer's key. It can read, create keys and delete keys, but not write documents. */
export function deriveIndexerKey(masterKey: string): string {
  return deriveKey(masterKey, indexerKeyUid)
}

function deriveKey(masterKey: string, uid: string): string {
  return createHmac('sha256', masterKey).update(uid).digest('hex')
}

/**
 * Creates the search key and the indexer's key if they do not exist, and replaces one whose
 * actions, indexes or expiry are not as expected. Returns the names of those that it has replaced.
 * `client` is opened with the master key, or with the indexer's key if that exists; then that key
 * itself is not replaced. Throws KeyUnknown, which names `keySetting`.
 */
export async function ensurePermanentKeys(
  client: Meilisearch,
  keySetting: KeySetting = 'MEILI_MASTER_KEY',
): Promise<string[]> {
  const replaced: string[] = []
  for (const key of permanentKeys)
    if (await ensureKey(client, key, keySetting)) replaced.push(key.name)
  return replaced
}

type PermanentKey = KeyCreation & { uid: string; name: string }

const permanentKeys: PermanentKey[] = [
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
    description: 'Trade quoting service: the indexer. Can read, and create and delete keys.',
    actions: [
      'keys.get',
      'keys.create',
      'keys.delete',
      'documents.get',
      'indexes.get',
      'settings.get',
      'tasks.get',
      'stats.get',
      'version',
    ],
    indexes: ['*'],
    expiresAt: null,
  },
]

/** Whether this is the uid of a permanent key. */
export const isPermanentKey = (uid: string) => permanentKeys.some((key) => key.uid === uid)

/** Returns whether the key existed with other rights and was replaced. */
async function ensureKey(
  client: Meilisearch,
  key: PermanentKey,
  keySetting: KeySetting,
): Promise<boolean> {
  const existing = await readKey(client, key.uid)
  if (existing && hasSameRights(existing, key)) return false
  if (existing) {
    // After a key has deleted itself, it could not create its successor.
    if (existing.key === client.config.apiKey) return false
    // Meilisearch can change only the name and the description of a key, so it is replaced. The new
    // key has the same text.
    await deleteKeyIfExists(client, key.uid)
  }
  await createKey(client, key, keySetting)
  return existing !== null
}

/** Deletes a key, unless another process has already deleted it. */
export async function deleteKeyIfExists(client: Meilisearch, uid: string): Promise<void> {
  await client.deleteKey(uid).catch((error: unknown) => {
    if (!(error instanceof MeilisearchApiError) || error.response.status !== 404) throw error
  })
}

/** Returns null if the key does not exist, or if the engine does not know the key of the client. */
async function readKey(client: Meilisearch, uid: string): Promise<Key | null> {
  try {
    return await client.getKey(uid)
  } catch (error) {
    const status = error instanceof MeilisearchApiError ? error.response.status : null
    // If the key of the client is unknown (403), creating the key fails too, and says so.
    if (status === 403 || status === 404) return null
    throw error
  }
}

function hasSameRights(existing: Key, key: PermanentKey): boolean {
  const areEqual = (some: string[], others: string[]) =>
    isDeepStrictEqual(some.toSorted(), others.toSorted())
  return (
    areEqual(existing.actions, key.actions) &&
    areEqual(existing.indexes, key.indexes) &&
    (existing.expiresAt ?? null) === null
  )
}

async function createKey(
  client: Meilisearch,
  key: PermanentKey,
  keySetting: KeySetting,
): Promise<void> {
  await client.createKey(key).catch((cause: unknown) => {
    if (!(cause instanceof MeilisearchApiError)) throw cause
    // Another process has created it at the same time.
    if (cause.cause?.code === 'api_key_already_exists') return
    if (cause.response.status !== 403) throw cause
    throw new KeyUnknown(keySetting, cause)
  })
}

/** More than any engine has: each release that runs has about four. */
const maxKeys = 1_000_000

/**
 * Returns every key of the engine, from one request: others may create and delete keys between two
 * requests, or the second one may reach another server.
 */
export async function readAllKeys(client: Meilisearch): Promise<Key[]> {
  const { results } = await client.getKeys({ limit: maxKeys })
  return results
}

const indexerKeyAdvice =
  'scripts/migrate.ts creates the keys. After the engine lost its data, run it again with ' +
  'MEILI_URL and MEILI_MASTER_KEY (`docker compose run --rm migrate`). The indexer then builds ' +
  'the index'

/** The engine does not know the key in this setting. */
export class KeyUnknown extends Error {
  constructor(setting: KeySetting, cause?: MeilisearchApiError) {
    const fact = `The search engine does not know the key in ${setting}`
    super(setting === 'MEILI_INDEXER_KEY' ? `${fact}. ${indexerKeyAdvice}` : fact, { cause })
  }
}
