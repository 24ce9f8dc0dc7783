// Starts a search engine for one test, for example with settings that no other test uses.
import type { Meilisearch } from 'meilisearch'
import { startMeilisearch } from '../../../scripts/servers/meilisearch.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { createTemporaryDirectory } from '../temporary-directory.ts'

type OwnEngine = {
  url: string
  /** Has the master key. A request that is not answered fails after 30 s. */
  client: Meilisearch
}

/** Starts an empty Meilisearch without keys, with these command-line flags, until the test ends. */
export async function startOwnEngine(
  t: { teardown(fn: () => unknown): void },
  masterKey: string,
  flags: string[] = [],
): Promise<OwnEngine> {
  const directory = createTemporaryDirectory(t, 'engine')
  const server = await startMeilisearch({ directory, masterKey, flags })
  t.teardown(() => server.stop())
  return {
    url: server.url,
    client: openIndexingClient(server.url, masterKey, { timeoutMs: 30_000 }),
  }
}
