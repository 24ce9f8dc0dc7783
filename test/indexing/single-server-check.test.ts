// The check that the URL of an engine leads to one server marks the index only under the lease. It
// fails if no server knows the indexer's key.
import type { Meilisearch } from 'meilisearch'
import t from 'tap'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import { getRunKeyName } from '../../src/indexing/engine/run-keys.ts'
import { readRegistration } from '../../src/indexing/registration.ts'
import { engineRecheckPause, requireSingleServer } from '../../src/indexing/single-server-check.ts'
import { leaseTarget } from '../support/database/leased-target.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { testService } from '../support/service/test-service.ts'

/** Returns a client of a URL that leads to several servers, whose keys of this name differ. */
function openClientOfSeveral(name: string): Meilisearch {
  let requests = 0
  const getKeys = async () => ({ results: [{ uid: `${++requests}`, name, createdAt: 0 }] })
  return { getKeys } as unknown as Meilisearch
}

t.test('several servers are marked, but not by an indexer that has lost its lease', async (t) => {
  replaceUntilEnd(t, engineRecheckPause, { ms: 1 })
  const { db, target } = await testService(t)
  const keyClient = openClientOfSeveral(getRunKeyName(target))
  const leased = { ...(await leaseTarget(target)), keyClient }
  const newer = { ...(await leaseTarget(target)), keyClient }
  const readIndexedAt = async () =>
    (await readRegistration(db, target.registrationName))?.indexedAt ?? null
  await t.rejects(requireSingleServer(leased), /has taken over/)
  t.not(await readIndexedAt(), null)
  await t.rejects(requireSingleServer(newer), /several Meilisearch servers/)
  t.equal(await readIndexedAt(), null, 'its contents are unknown')
})

t.test('a server that does not know the key is no single server', async (t) => {
  replaceUntilEnd(t, engineRecheckPause, { ms: 1 })
  const { config, target } = await testService(t)
  const keyClient = openIndexingClient(config.MEILI_URL, 'a key that nobody created')
  const leased = { ...(await leaseTarget(target)), keyClient }
  await t.rejects(requireSingleServer(leased), /does not know the key in MEILI_INDEXER_KEY/)
})
