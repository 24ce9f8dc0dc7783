// The deletion key: an API key of Meilisearch for one deletion, which no other key allows.
import type { Meilisearch } from 'meilisearch'

// The key is deleted after the deletion. This limits one that was left by a crash.
const deletionKeyMs = 3_600_000

/**
 * Calls `work` with a deletion key that allows this action on the indexes, and returns its result.
 * `client` is opened with the indexer's key. Throws the error of `work`, or that of the engine if
 * the key cannot be created or deleted.
 */
export async function withDeletionKey<Result>(
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
    expiresAt: new Date(Date.now() + deletionKeyMs),
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
