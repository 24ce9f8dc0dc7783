// Keys of the search engine, each for one job. Meilisearch derives a key from the master key and the key's uid, so known uids give known keys
// on every machine: nothing to copy by hand, and they survive a rebuild.
import { createHash, createHmac } from 'node:crypto'
import { type KeyCreation, type Meilisearch, MeilisearchApiError } from 'meilisearch'

const searchKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c01'
const indexerKeyUid = '5f0d6f3e-7c1b-4a52-9f0e-2f6d6b7a8c02'

/** The key that the API searches with: HMAC-SHA-256 of the uid under the master key, as Meilisearch documents for its keys. */
export function searchKey(masterKey: string): string {
  return deriveKey(masterKey, searchKeyUid)
}

/** The key that an indexer starts with. It reads, and makes and takes away the keys that indexers work with; it writes nothing itself. */
export function indexerKey(masterKey: string): string {
  return deriveKey(masterKey, indexerKeyUid)
}

/**
 * Makes sure that the engine knows the search key and the indexer's. `engine` is opened with the master key; the indexer's own will do for as long as
 * the engine knows it.
 */
export async function ensureEngineKeys(engine: Meilisearch): Promise<void> {
  await ensureKey(engine, {
    uid: searchKeyUid,
    name: 'search',
    description: 'Trade quoting service: the API. Can only search.',
    actions: ['search'],
    indexes: ['*'],
    expiresAt: null,
  })
  await ensureKey(engine, {
    uid: indexerKeyUid,
    name: 'indexer',
    description:
      'Trade quoting service: the indexer. Reads, and manages the keys that indexers work with.',
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
  })
}

async function ensureKey(engine: Meilisearch, key: KeyCreation & { uid: string }): Promise<void> {
  const known = await engine.getKey(key.uid).catch(() => null)
  if (known) return
  await engine.createKey(key).catch((cause: unknown) => {
    if (!(cause instanceof MeilisearchApiError)) throw cause
    // Another process made it at the same moment.
    if (cause.cause?.code === 'api_key_already_exists') return
    if (cause.response.status !== 403) throw cause
    throw new Error(
      'The search engine does not know this key. Keys are made by scripts/migrate.ts, also anew after the engine lost its data: run it with MEILI_URL and MEILI_MASTER_KEY (`docker compose run --rm migrate`), and the index is built by itself',
      { cause },
    )
  })
}

/** The name of the index that a rebuild fills beside the live one. */
export function nextIndexName(indexName: string): string {
  return `${indexName}_next`
}

export type IndexerKeys = {
  /** Writes to the live index and the one beside it, but cannot create an index: a write to an engine that was emptied is refused. */
  documents: string
  /** Creates indexes and looks at tasks. */
  building: string
}

/**
 * Gives the indexer with this fencing number keys of its own and takes away those of all before it: what an indexer that lost its place sends
 * from now on is refused. `engine` is opened with the indexer's key.
 */
export async function replaceIndexerKeys(
  engine: Meilisearch,
  { engineName, indexName, fence }: { engineName: string; indexName: string; fence: string },
): Promise<IndexerKeys> {
  const name = `indexer of ${engineName}, ${indexName}`
  for (const uid of await keysNamed(engine, name)) await engine.deleteKey(uid)
  const jobs = {
    documents: { actions: documentActions, indexes: [indexName, nextIndexName(indexName)] },
    building: { actions: ['indexes.create', 'tasks.get'], indexes: ['*'] },
  } satisfies Record<keyof IndexerKeys, Pick<KeyCreation, 'actions' | 'indexes'>>
  const create = async (job: keyof IndexerKeys): Promise<string> => {
    const uid = uuidOf(`${engineName}/${indexName}/${fence}/${job}`)
    const { key } = await engine.createKey({
      uid,
      name,
      description: `Trade quoting service: ${job}`,
      ...jobs[job],
      expiresAt: null,
    })
    return key
  }
  return { documents: await create('documents'), building: await create('building') }
}

/** Runs `work` with a key that can take documents out of one index, and takes the key away again. `engine` is opened with the indexer's key. */
export async function withRepairKey<Result>(
  engine: Meilisearch,
  indexName: string,
  work: (key: string) => Promise<Result>,
): Promise<Result> {
  const { uid, key } = await engine.createKey({
    name: `repair of ${indexName}`,
    description: 'Trade quoting service: one repair',
    actions: ['documents.delete', 'tasks.get'],
    indexes: [indexName],
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  try {
    return await work(key)
  } finally {
    await engine.deleteKey(uid)
  }
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

async function keysNamed(engine: Meilisearch, name: string): Promise<string[]> {
  const uids: string[] = []
  for (let offset = 0; ; ) {
    const { results, total } = await engine.getKeys({ offset, limit: 100 })
    uids.push(...results.filter((key) => key.name === name).map((key) => key.uid))
    offset += results.length
    if (results.length === 0 || offset >= total) return uids
  }
}

function deriveKey(masterKey: string, uid: string): string {
  return createHmac('sha256', masterKey).update(uid).digest('hex')
}

/** A UUID (version 8: of one's own making) that is always the same for the same text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
