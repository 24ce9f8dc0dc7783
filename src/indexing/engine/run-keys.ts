// The run keys: the API keys of Meilisearch that each run of an indexer creates. First it deletes
// those of the previous indexer, so that Meilisearch rejects its late requests.
import { createHash } from 'node:crypto'
import type { Key, KeyCreation, Meilisearch } from 'meilisearch'
import { type IndexAddress, type IndexWithKeys, nextIndexName } from '../index-address.ts'
import type { AcquiredLease } from '../lease/indexer-lease.ts'
import { deleteKeyIfExists, readAllKeys } from './permanent-keys.ts'

const getNamePrefix = (registrationName: string) => `indexer of ${registrationName}, `

/** Returns the name that the run keys of all indexers of an index share. */
export const getRunKeyName = ({
  registrationName,
  indexName,
}: Pick<IndexAddress, 'registrationName' | 'indexName'>) =>
  getNamePrefix(registrationName) + indexName

type RunKeys = {
  /**
   * Writes to the live index and to the index of a rebuild. Cannot create an index, so that the
   * engine rejects a write after the engine has lost its data.
   */
  documents: string
  /** Reads the tasks of every index, and creates indexes. */
  tasks: string
}

/**
 * Returns the identity of the database whose indexer created the present run keys of this index.
 * That indexer was the last that wrote to it. There may be two identities for a moment, and none
 * for keys that an older release created.
 */
export async function readDatabasesOfRunKeys(index: IndexWithKeys): Promise<string[]> {
  const keys = await readRunKeys(index)
  const identities = keys.flatMap(({ description }) => description?.split(databaseLabel)[1] ?? [])
  return [...new Set(identities)]
}

/**
 * In the description of a key, the identity of the database follows this text. Other releases parse
 * it too, so it must not change.
 */
const databaseLabel = ', for the database '

/**
 * Creates run keys for the indexer with this fencing token, and deletes those of previous indexers,
 * so that the engine rejects every request of an indexer that has lost its lease.
 */
export async function replaceRunKeys(
  index: IndexWithKeys,
  lease: Pick<AcquiredLease, 'fencingToken' | 'serverStartedAt' | 'databaseIdentity'>,
): Promise<RunKeys> {
  const { keyClient, registrationName, indexName } = index
  const { fencingToken, serverStartedAt, databaseIdentity } = lease
  for (const { uid } of await readRunKeys(index)) await deleteKeyIfExists(keyClient, uid)
  const permissions = {
    documents: { actions: documentActions, indexes: [indexName, nextIndexName(indexName)] },
    tasks: { actions: ['indexes.create', 'tasks.get'], indexes: ['*'] },
  } satisfies Record<keyof RunKeys, Pick<KeyCreation, 'actions' | 'indexes'>>
  const createKey = async (purpose: keyof RunKeys): Promise<string> => {
    const { key } = await keyClient.createKey({
      uid: uuidFromText(
        [registrationName, indexName, fencingToken, serverStartedAt, purpose].join('/'),
      ),
      name: getRunKeyName(index),
      description: `Trade quoting service: ${purpose}${databaseLabel}${databaseIdentity}`,
      ...permissions[purpose],
      expiresAt: null,
    })
    return key
  }
  return { documents: await createKey('documents'), tasks: await createKey('tasks') }
}

/**
 * Returns the run keys of a registration that is perhaps of another release, each with the name of
 * the index that it belongs to. `client` is opened with the indexer's key.
 */
export async function listRunKeys(
  client: Meilisearch,
  registrationName: string,
): Promise<{ uid: string; indexName: string }[]> {
  const prefix = getNamePrefix(registrationName)
  const keys = await readAllKeys(client)
  return keys.flatMap(({ uid, name }) =>
    name?.startsWith(prefix) ? [{ uid, indexName: name.slice(prefix.length) }] : [],
  )
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

async function readRunKeys(index: IndexWithKeys): Promise<Key[]> {
  const keys = await readAllKeys(index.keyClient)
  return keys.filter(({ name }) => name === getRunKeyName(index))
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
