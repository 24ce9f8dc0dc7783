// The API keys of the search engine: each has only the rights that its purpose needs.
// Numbers such as S37 are those of the attacks in docs/security.md.
import { randomBytes } from 'node:crypto'
import type { Key, KeyCreation, Meilisearch } from 'meilisearch'
import t from 'tap'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import {
  deriveIndexerKey,
  deriveSearchKey,
  ensurePermanentKeys,
} from '../../../src/indexing/keys.ts'
import { servers } from '../../support/database/test-database.ts'
import { startOwnEngine } from '../../support/servers/own-engine.ts'

t.test('keys have only the rights for their purpose (S37)', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  const engine = openIndexingClient(url, meiliMasterKey)
  const name = `test_${randomBytes(6).toString('hex')}`
  await engine.createIndex(name, { primaryKey: 'id' }).waitTask()
  t.teardown(() => engine.deleteIndexIfExists(name))
  await ensurePermanentKeys(engine)
  const requests: [string, (client: Meilisearch) => Promise<unknown>, number, number][] = [
    ['search', (client) => client.index(name).search(''), 200, 403],
    ['read documents', (client) => client.index(name).getDocuments(), 403, 200],
    ['write documents', (client) => client.index(name).addDocuments([{ id: '1' }]), 403, 200],
    ['read settings', (client) => client.index(name).getSettings(), 403, 403],
    ['read keys', (client) => client.getKeys(), 403, 403],
    ['create a key', (client) => client.createKey(everything), 403, 403],
    ['delete a key', (client) => client.deleteKey('x'), 403, 403],
    ['change a key', (client) => client.updateKey('x', { name: 'x' }), 403, 403],
    ['export data', (client) => client.createDump(), 403, 403],
    ['copy data', (client) => client.createSnapshot(), 403, 403],
    ['delete tasks', (client) => client.tasks.deleteTasks({ uids: [1] }), 403, 403],
    ['count documents', (client) => client.index(name).getStats(), 403, 200],
  ]
  const readStatus = (request: Promise<unknown>) =>
    request.then(
      () => 200,
      (error: { response?: { status: number } }) => error.response?.status,
    )
  const searching = openIndexingClient(url, deriveSearchKey(meiliMasterKey))
  const indexing = openIndexingClient(url, deriveIndexerKey(meiliMasterKey))
  for (const [what, send, search, indexer] of requests) {
    t.equal(await readStatus(send(searching)), search, `search key: ${what}`)
    t.equal(await readStatus(send(indexing)), indexer, `key of the indexer: ${what}`)
  }
})

const everything: KeyCreation = { actions: ['*'], indexes: ['*'], expiresAt: null }

t.test('keys with other rights or an expiry are replaced, and keep their text', async (t) => {
  const { client: engine } = await startOwnEngine(t, 'a-master-key-for-this-test')
  t.same(await ensurePermanentKeys(engine), [])
  const readKeys = async () => {
    const { results } = await engine.getKeys({ limit: 100 })
    const own = results.filter(({ name }) => name === 'search' || name === 'indexer')
    return Object.fromEntries(
      own.map(({ createdAt: _, updatedAt: __, ...key }) => [String(key.name), key]),
    )
  }
  const expected = await readKeys()
  for (const [name, changed] of [
    ['search', { actions: ['*'] }],
    ['search', { indexes: ['another'] }],
    ['search', { expiresAt: new Date(Date.now() + 3_600_000) }],
    ['indexer', { actions: ['documents.get'] }],
  ] as [string, Partial<KeyCreation>][]) {
    const { key: _, ...rights } = expected[name] as Key
    await engine.deleteKey(rights.uid)
    await engine.createKey({ ...rights, ...changed } as KeyCreation)
    t.same(await ensurePermanentKeys(engine), [name])
    t.same(await readKeys(), expected, JSON.stringify(changed))
    t.same(await ensurePermanentKeys(engine), [])
  }
})

t.test('a key that cannot be read does not count as missing', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  const engine = openIndexingClient(url, meiliMasterKey)
  const timeout = new Error('The search engine does not answer.')
  engine.getKey = async () => {
    throw timeout
  }
  await t.rejects(ensurePermanentKeys(engine), timeout, 'its rights are unknown')
  const withUnknownKey = openIndexingClient(url, 'a key that nobody created')
  await t.rejects(ensurePermanentKeys(withUnknownKey), {
    message: 'The search engine does not know the key in MEILI_MASTER_KEY',
  })
})
