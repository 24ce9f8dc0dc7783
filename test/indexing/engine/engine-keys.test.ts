// The API keys of the search engine: each has only the rights that its purpose needs.
import { randomBytes } from 'node:crypto'
import type { Key, KeyCreation } from 'meilisearch'
import t from 'tap'
import { withDeletionKey } from '../../../src/indexing/engine/deletion-key.ts'
import { openIndexingClient } from '../../../src/indexing/engine/indexing-client.ts'
import {
  deriveIndexerKey,
  deriveSearchKey,
  ensurePermanentKeys,
} from '../../../src/indexing/engine/permanent-keys.ts'
import {
  getRunKeyName,
  readDatabasesOfRunKeys,
  replaceRunKeys,
} from '../../../src/indexing/engine/run-keys.ts'
import { servers } from '../../support/database/test-database.ts'
import { startOwnEngine } from '../../support/servers/own-engine.ts'

t.test(
  'keys have only the rights for their purpose, and the next indexer deletes them',
  async (t) => {
    const { meiliUrls, meiliMasterKey } = await servers()
    const [url = ''] = meiliUrls
    const engine = openIndexingClient(url, meiliMasterKey)
    const indexName = `test_${randomBytes(6).toString('hex')}`
    await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
    t.teardown(() => engine.deleteIndexIfExists(indexName))
    const withKey = (key: string) => openIndexingClient(url, key)
    const readStatus = (request: Promise<unknown>) =>
      request.then(
        () => 200,
        (error: { response?: { status: number } }) => error.response?.status,
      )
    await ensurePermanentKeys(engine)
    const searching = withKey(deriveSearchKey(meiliMasterKey))
    t.equal(await readStatus(searching.index(indexName).search('')), 200)
    t.equal(await readStatus(searching.index(indexName).addDocuments([{ id: '1' }])), 403)
    t.equal(await readStatus(searching.index(indexName).getDocuments()), 403)
    t.equal(await readStatus(searching.getKeys()), 403)

    const index = { keyClient: engine, registrationName: `main of ${indexName}`, indexName }
    await engine.createKey({
      name: `indexer of main of ${indexName}, ${indexName}`,
      description: 'Trade quoting service: documents',
      actions: ['documents.add'],
      indexes: [indexName],
      expiresAt: null,
    })
    t.same(await readDatabasesOfRunKeys(index), [], 'the keys of an older release name none')
    const replaceKeys = (fencingToken: string) =>
      replaceRunKeys(index, {
        fencingToken,
        serverStartedAt: '1',
        databaseIdentity: `identity ${fencingToken}`,
      })
    const firstKeys = await replaceKeys('1')
    const writing = withKey(firstKeys.documents)
    const addition = writing.index(indexName).addDocuments([{ id: '1' }])
    t.equal(await readStatus(addition.waitTask()), 200)
    t.equal(await readStatus(writing.index(indexName).search('')), 403, 'cannot search')
    t.equal(await readStatus(writing.index('another').addDocuments([{ id: '1' }])), 403)
    t.equal(await readStatus(writing.getKeys()), 403)
    const additionToMissing = await writing
      .index(`${indexName}_next`)
      .addDocuments([{ id: '1' }])
      .waitTask()
    t.equal(
      additionToMissing.error?.code,
      'index_not_found',
      'a write to an engine without data creates no index with default settings',
    )
    const secondKeys = await replaceKeys('2')
    t.same(await readDatabasesOfRunKeys(index), ['identity 2'], 'the database that wrote last')
    const lateAddition = writing.index(indexName).addDocuments([{ id: '1' }])
    t.equal(await readStatus(lateAddition), 403, 'the first keys are deleted')
    t.equal(await readStatus(withKey(secondKeys.documents).index(indexName).getStats()), 200)
  },
)

t.test('keys with other rights or an expiry are replaced, and keep their text', async (t) => {
  const masterKey = 'a-master-key-for-this-test'
  const { url, client: engine } = await startOwnEngine(t, masterKey)
  t.same(await ensurePermanentKeys(engine), [])
  const readKeys = async () => {
    const { results } = await engine.getKeys({ limit: 100 })
    const own = results.filter(({ name }) => name === 'search' || name === 'indexer')
    return Object.fromEntries(
      own.map(({ createdAt: _, updatedAt: __, ...key }) => [String(key.name), key]),
    )
  }
  const expected = await readKeys()
  const replace = async (name: string, changed: Partial<KeyCreation>) => {
    const { key: _, ...rights } = expected[name] as Key
    await engine.deleteKey(rights.uid)
    await engine.createKey({ ...rights, ...changed } as KeyCreation)
  }
  for (const [name, changed] of [
    ['search', { actions: ['*'] }],
    ['search', { indexes: ['another'] }],
    ['search', { expiresAt: new Date(Date.now() + 3_600_000) }],
    ['indexer', { actions: ['keys.get', 'keys.create', 'keys.delete'] }],
  ] as [string, Partial<KeyCreation>][]) {
    await replace(name, changed)
    t.same(await ensurePermanentKeys(engine), [name])
    t.same(await readKeys(), expected, JSON.stringify(changed))
    t.same(await ensurePermanentKeys(engine), [])
  }
  const asIndexer = openIndexingClient(url, deriveIndexerKey(masterKey))
  await replace('search', { actions: ['*'] })
  await replace('indexer', { actions: ['*'] })
  t.same(await ensurePermanentKeys(asIndexer), ['search'], 'a key does not replace itself')
  t.same(await ensurePermanentKeys(engine), ['indexer'])
})

t.test('a key that cannot be read does not count as missing', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  const engine = openIndexingClient(url, meiliMasterKey)
  await ensurePermanentKeys(engine)
  const timeout = new Error('The search engine does not answer.')
  engine.getKey = async () => {
    throw timeout
  }
  await t.rejects(ensurePermanentKeys(engine), timeout, 'its rights are unknown')
  const withUnknownKey = openIndexingClient(url, 'a key that nobody created')
  await t.rejects(
    ensurePermanentKeys(withUnknownKey),
    { message: 'The search engine does not know the key in MEILI_MASTER_KEY' },
    'the advice for an unknown indexer key would not help',
  )
})

t.test('an error is kept if the deletion key cannot be deleted afterwards', async (t) => {
  const { meiliUrls, meiliMasterKey } = await servers()
  const [url = ''] = meiliUrls
  const engine = openIndexingClient(url, meiliMasterKey)
  const repair = (error?: Error) =>
    withDeletionKey(engine, ['none'], 'documents.delete', async (key) => {
      await engine.deleteKey(key)
      if (error) throw error
    })
  await t.rejects(repair(new Error('The repair has failed.')), {
    message: 'The repair has failed.',
  })
  await t.rejects(repair(), { cause: { code: 'api_key_not_found' } })
})

t.test('run keys that another process has already deleted are no error', async (t) => {
  const { client: engine } = await startOwnEngine(t, 'a-master-key-for-this-test')
  const index = { keyClient: engine, registrationName: 'main', indexName: 'products' }
  const replaceKeys = (fencingToken: string) =>
    replaceRunKeys(index, { fencingToken, serverStartedAt: '1', databaseIdentity: 'a' })
  await replaceKeys('1')
  const getKeys = engine.getKeys.bind(engine)
  engine.getKeys = async (parameters) => {
    const answer = await getKeys(parameters)
    const runKey = answer.results.find(({ name }) => name === getRunKeyName(index))
    await engine.deleteKey(runKey?.uid ?? '')
    return answer
  }
  await replaceKeys('2')
  const { results } = await getKeys({ limit: 1_000 })
  t.equal(results.filter(({ name }) => name === getRunKeyName(index)).length, 2)
})

t.test('all keys of previous indexers are deleted, whatever happens to others', async (t) => {
  const { client: engine } = await startOwnEngine(t, 'a-master-key-for-this-test')
  const index = { keyClient: engine, registrationName: 'main', indexName: 'products' }
  const replaceKeys = (fencingToken: string) =>
    replaceRunKeys(index, { fencingToken, serverStartedAt: '1', databaseIdentity: 'a' })
  await replaceKeys('1')
  const others: string[] = []
  for (let n = 0; n < 100; n++) {
    const { uid } = await engine.createKey({ actions: ['search'], indexes: [], expiresAt: null })
    others.push(uid)
  }
  const getKeys = engine.getKeys.bind(engine)
  engine.getKeys = async (parameters) => {
    const answer = await getKeys(parameters)
    await engine.deleteKey(others.pop() ?? '')
    return answer
  }
  await replaceKeys('2')
  t.same(await readDatabasesOfRunKeys(index), ['a'])
  const { results } = await getKeys({ limit: 1_000 })
  t.equal(results.filter(({ name }) => name === 'indexer of main, products').length, 2)
})
