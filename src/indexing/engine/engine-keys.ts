// API keys of Meilisearch: one for searching, one for the indexer, and temporary ones for each run.
// Meilisearch derives a key from the master key and the key's uid. With fixed uids every machine
// can compute the keys, and nobody has to copy them.
import { createHash, createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Key, type KeyCreation, type Meilisearch, MeilisearchApiError } from 'meilisearch'
import { timeouts } from '../../timeouts.ts'
import { type IndexAddress, nextIndexName } from '../index-address.ts'
import type { AcquiredLease } from '../indexer-lease.ts'

const searchKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c01'
const indexerKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c02'

/**
 * Returns the key with which the API searches: HMAC-SHA-256 of the uid with the master key, as
 * documented by Meilisearch.
 */
export function deriveSearchKey(masterKey: string): string {
  return deriveKey(masterKey, searchKeyUid)
}

/**
 * Returns the key of the indexer. It can read, create keys and delete keys, but not write
 * documents.
 */
export function deriveIndexerKey(masterKey: string): string {
  return deriveKey(masterKey, indexerKeyUid)
}

/**
 * Creates the search key and the key of the indexer if they do not exist, and replaces one whose
 * actions, indexes or expiry are not as expected. Returns the names of those that it has replaced.
 * `client` is opened with the master key, or with the indexer's key if that exists; then that key
 * itself is not replaced. Throws KeyUnknown.
 */
export async function ensureEngineKeys(client: Meilisearch): Promise<string[]> {
  const replaced: string[] = []
  for (const key of engineKeys) if (await ensureKey(client, key)) replaced.push(key.name)
  return replaced
}

type EngineKey = KeyCreation & { uid: string; name: string }

const engineKeys: EngineKey[] = [
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

/** Returns whether the key existed with other rights and was replaced. */
async function ensureKey(client: Meilisearch, key: EngineKey): Promise<boolean> {
  // If the key cannot be read, creating it fails for the same reason, and that error is thrown.
  const existing = await client.getKey(key.uid).catch(() => null)
  if (existing && hasSameRights(existing, key)) return false
  if (existing) {
    // After a key has deleted itself, it could not create its successor.
    if (existing.key === client.config.apiKey) return false
    // Meilisearch changes names and descriptions of keys only. The new key has the same text.
    await client.deleteKey(key.uid).catch((error: unknown) => {
      // Another process has deleted it at the same time.
      if (!(error instanceof MeilisearchApiError) || error.response.status !== 404) throw error
    })
  }
  await createKey(client, key)
  return existing !== null
}

function hasSameRights(existing: Key, key: EngineKey): boolean {
  const areEqual = (some: string[], others: string[]) =>
    isDeepStrictEqual(some.toSorted(), others.toSorted())
  return (
    areEqual(existing.actions, key.actions) &&
    areEqual(existing.indexes, key.indexes) &&
    (existing.expiresAt ?? null) === null
  )
}

async function createKey(client: Meilisearch, key: EngineKey): Promise<void> {
  await client.createKey(key).catch((cause: unknown) => {
    if (!(cause instanceof MeilisearchApiError)) throw cause
    // Another process has created it at the same time.
    if (cause.cause?.code === 'api_key_already_exists') return
    if (cause.response.status !== 403) throw cause
    throw new KeyUnknown(cause)
  })
}

/** The engine does not know the key of the client. */
export class KeyUnknown extends Error {
  constructor(cause: MeilisearchApiError) {
    super(
      'The search engine does not know this key. scripts/migrate.ts creates the keys. After the ' +
        'engine lost its data, run it again with MEILI_URL and MEILI_MASTER_KEY ' +
        '(`docker compose run --rm migrate`). The indexer then builds the index',
      { cause },
    )
  }
}

/** An index of an engine. `client` is opened with the indexer's key. */
type IndexOfEngine = Pick<IndexAddress, 'client' | 'indexName' | 'registrationName'>

/** The API keys of the indexers of a registration have names that begin with this text. */
const getIndexerKeyPrefix = (registrationName: string) => `indexer of ${registrationName}, `

/** Returns the name that the API keys of all indexers of an index share. */
const getIndexerKeyName = ({ registrationName, indexName }: IndexOfEngine) =>
  getIndexerKeyPrefix(registrationName) + indexName

/**
 * Returns a text that identifies a server: the keys that never change and those of the indexers of
 * this index, with the times at which they were created.
 */
export async function identifyByKeys(index: IndexOfEngine): Promise<string> {
  const { results } = await index.client.getKeys({ limit: maxListedKeys })
  return results
    .filter(
      ({ uid, name }) =>
        uid === searchKeyUid || uid === indexerKeyUid || name === getIndexerKeyName(index),
    )
    .map(({ uid, createdAt }) => `${uid} ${new Date(createdAt).toISOString()}`)
    .sort()
    .join()
}

/**
 * An engine has about four keys for each release that runs. They are read in one request, because
 * another request may reach another server.
 */
const maxListedKeys = 1_000

export type IndexerKeys = {
  /**
   * Writes to the live index and to the index of a rebuild. Cannot create an index, so that the
   * engine rejects a write after the engine has lost its data.
   */
  documents: string
  /** Reads the tasks of every index, and creates indexes. */
  tasks: string
}

/**
 * Returns the identity of the database whose indexer created the present keys of this index, and so
 * was the last that wrote to it. There may be two for a moment, and none for keys that an older
 * release created.
 */
export async function readDatabasesOfKeys(index: IndexOfEngine): Promise<string[]> {
  const keys = await readIndexerKeys(index)
  const identities = keys.flatMap(({ description }) => readDatabaseOfDescription(description) ?? [])
  return [...new Set(identities)]
}

const databaseLabel = ', for the database '

/** Returns the description of a key, from which `readDatabaseOfDescription` reads the identity. */
export function describeIndexerKey(purpose: string, databaseIdentity: string): string {
  return `Trade quoting service: ${purpose}${databaseLabel}${databaseIdentity}`
}

/** Returns the identity of the database; undefined if the description has none. */
export function readDatabaseOfDescription(
  description: string | null | undefined,
): string | undefined {
  return description?.split(databaseLabel)[1]
}

/**
 * Creates keys for the indexer with this fencing token, and deletes those of all previous indexers,
 * so that the engine rejects every request of an indexer that has lost its lease.
 */
export async function replaceIndexerKeys(
  index: IndexOfEngine,
  lease: Pick<AcquiredLease, 'fencingToken' | 'serverStartedAt' | 'databaseIdentity'>,
): Promise<IndexerKeys> {
  const { client, registrationName, indexName } = index
  const { fencingToken, serverStartedAt, databaseIdentity } = lease
  for (const { uid } of await readIndexerKeys(index)) await client.deleteKey(uid)
  const permissions = {
    documents: { actions: documentActions, indexes: [indexName, nextIndexName(indexName)] },
    tasks: { actions: ['indexes.create', 'tasks.get'], indexes: ['*'] },
  } satisfies Record<keyof IndexerKeys, Pick<KeyCreation, 'actions' | 'indexes'>>
  const createKey = async (purpose: keyof IndexerKeys): Promise<string> => {
    const { key } = await client.createKey({
      uid: uuidFromText(
        [registrationName, indexName, fencingToken, serverStartedAt, purpose].join('/'),
      ),
      name: getIndexerKeyName(index),
      description: describeIndexerKey(purpose, databaseIdentity),
      ...permissions[purpose],
      expiresAt: null,
    })
    return key
  }
  return { documents: await createKey('documents'), tasks: await createKey('tasks') }
}

/**
 * Returns the keys of the indexers of a registration that is perhaps of another release, each with
 * the name of the index that it belongs to. `client` is opened with the indexer's key.
 */
export async function listKeysOfRegistration(
  client: Meilisearch,
  registrationName: string,
): Promise<{ uid: string; indexName: string }[]> {
  const prefix = getIndexerKeyPrefix(registrationName)
  const keys = await readKeys(client, (name) => name.startsWith(prefix))
  return keys.map(({ uid, name }) => ({ uid, indexName: (name ?? '').slice(prefix.length) }))
}

/**
 * Calls `work` with a temporary key that allows this action on the indexes, and returns its result.
 * `client` is opened with the indexer's key. Throws the error of `work`, or that of the engine if
 * the key cannot be created or deleted.
 */
export async function withTemporaryKey<Result>(
  client: Meilisearch,
  indexNames: string[],
  action: 'documents.delete' | 'indexes.delete',
  work: (key: string) => Promise<Result>,
): Promise<Result> {
  const { uid, key } = await client.createKey({
    name: `temporary key for ${indexNames.join(' and ')}`,
    description: 'Trade quoting service: one repair or removal',
    actions: [action, 'tasks.get'],
    indexes: indexNames,
    expiresAt: new Date(Date.now() + timeouts.indexing.repairKey.ms),
  })
  let result: Result
  try {
    result = await work(key)
  } catch (error) {
    // The first error is thrown. If this fails too, most often for the same reason, no log is
    // needed: the key expires.
    await client.deleteKey(uid).catch(() => undefined)
    throw error
  }
  await client.deleteKey(uid)
  return result
}

const documentActions: KeyCreation['actions'] = [
  'documents.add',
  'documents.get',
  'documents.delete',
  'indexes.get',
  'indexes.delete',
  'indexes.swap',
  'settings.get',
  'settings.update',
  'tasks.get',
  'tasks.cancel',
  'stats.get',
]

function readIndexerKeys(index: IndexOfEngine): Promise<Key[]> {
  const expected = getIndexerKeyName(index)
  return readKeys(index.client, (name) => name === expected)
}

/** Returns the keys whose name meets the condition. */
async function readKeys(client: Meilisearch, isWanted: (name: string) => boolean): Promise<Key[]> {
  const keys: Key[] = []
  for (let offset = 0; ; ) {
    const { results, total } = await client.getKeys({ offset, limit: 100 })
    keys.push(...results.filter(({ name }) => isWanted(name ?? '')))
    offset += results.length
    if (results.length === 0 || offset >= total) return keys
  }
}

function deriveKey(masterKey: string, uid: string): string {
  return createHmac('sha256', masterKey).update(uid).digest('hex')
}

/** Returns a UUID of version 8 (application-defined) that is always the same for the same text. */
function uuidFromText(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
