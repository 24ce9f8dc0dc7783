// Two Meilisearch servers that a test can kill and start again.
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { runServer, type ServiceProcess } from '../support/service/service-process.ts'

export type Engine = { name: string; url: string; process: ServiceProcess }

export const masterKey = 'a-master-key-for-the-cluster'
export const indexName = 'products'

/** Starts both. They end with the test. */
export async function startEngines(t: {
  teardown(fn: () => unknown): void
}): Promise<[Engine, Engine]> {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-engines-'))
  await chmod(directory, 0o755)
  const start = async (name: string): Promise<Engine> => {
    const port = await chooseFixedPort()
    const { server, process } = await runServer(() =>
      startMeilisearch({ directory: join(directory, name), port, masterKey }),
    )
    t.teardown(() => process.stop())
    await ensurePermanentKeys(openIndexingClient(server.url, masterKey))
    return { name, url: server.url, process }
  }
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return Promise.all([start('main'), start('second')])
}
