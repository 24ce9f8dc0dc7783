// Compares the index of an engine with the tables, as `indexer.ts verify` does.
import type { Engine } from '../../../scripts/servers/service.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { verifyIndex } from '../../../src/indexing/verify.ts'
import { nameWithVersion } from '../../../src/search-engine/index-name.ts'
import { indexName, masterKey } from './installation.ts'

/** Returns a line for each kind of difference. */
export async function findIndexDifferences(db: Database, { name, url }: Engine): Promise<string[]> {
  const { missing, stale, extra } = await verifyIndex({
    db,
    client: openIndexingClient(url, masterKey),
    indexName: nameWithVersion(indexName),
    registrationName: nameWithVersion(name),
  })
  return Object.entries({ missing, stale, extra })
    .filter(([, ids]) => ids.length > 0)
    .map(([kind, ids]) => `index of ${name}: ${kind}: ${ids.join(', ')}`)
}
