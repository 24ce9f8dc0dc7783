// Checks that a URL leads to one Meilisearch server. Several servers behind a load balancer have
// different indexes, so their answers would be mixed and the indexer could not work.
import { setTimeout as sleep } from 'node:timers/promises'
import { MeilisearchApiError } from 'meilisearch'
import { isPermanentKey, KeyUnknown, readAllKeys } from './engine/permanent-keys.ts'
import { getRunKeyName } from './engine/run-keys.ts'
import type { IndexWithKeys, LiveTarget } from './index-address.ts'
import { executeUnderLease } from './lease/indexer-lease.ts'
import { markSeveralServers } from './registration.ts'

// Another process may have created an API key meanwhile.
export const engineRecheckPause = { ms: 250 }

/** The URL of an engine leads to several servers. */
export class SeveralServersFound extends Error {
  constructor() {
    super(
      'MEILI_URL leads to several Meilisearch servers, which share nothing. The index is not ' +
        'used, and PostgreSQL answers. (1) Give each server its own URL. (2) Run an indexer for ' +
        'each, with that URL as MEILI_URL and a different SEARCH_ENGINE. (3) List all but the ' +
        'first in MORE_SEARCH_ENGINES of the API as NAME=URL',
    )
  }
}

/**
 * The requests of one attempt are sent at the same time. So each needs its own connection, perhaps
 * to a different server.
 */
const requestsPerAttempt = 8

/** scripts/migrate.ts may create keys between the requests of one attempt, but not of every one. */
const maxAttempts = 3

/**
 * Throws SeveralServersFound if servers with different API keys answer the requests. First it marks
 * that in the registration, so that the API does not use the index. Each run of an indexer creates
 * keys, so even servers with the same data differ after one run. Throws KeyUnknown if no server
 * knows the indexer's key, and LeaseLost.
 */
export async function requireSingleServer(
  index: IndexWithKeys & Pick<LiveTarget, 'db' | 'lease'>,
): Promise<void> {
  let identities = new Set<string | null>()
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const requests = Array.from({ length: requestsPerAttempt }, () => readIdentity(index))
    identities = new Set(await Promise.all(requests))
    if (identities.size === 1 && !identities.has(null)) return
    if (attempt < maxAttempts) await sleep(engineRecheckPause.ms)
  }
  // The same answer each time: no server knows the key.
  if (identities.size === 1) throw new KeyUnknown('MEILI_INDEXER_KEY')
  const { db, lease, registrationName } = index
  await executeUnderLease(db, lease, (transaction) =>
    markSeveralServers(transaction, registrationName, true),
  )
  throw new SeveralServersFound()
}

/**
 * Returns a text that identifies the server that answers: its permanent keys and the run keys of
 * this index, with the times at which they were created. Returns null if the server
 * does not know the indexer's key.
 */
async function readIdentity(index: IndexWithKeys): Promise<string | null> {
  try {
    const keys = await readAllKeys(index.keyClient)
    return keys
      .filter(({ uid, name }) => isPermanentKey(uid) || name === getRunKeyName(index))
      .map(({ uid, createdAt }) => `${uid} ${new Date(createdAt).toISOString()}`)
      .sort()
      .join()
  } catch (error) {
    // One of several servers may not have the key.
    if (error instanceof MeilisearchApiError && error.response.status === 403) return null
    throw error
  }
}
