// A search engine or a database that was restored to an older state: the index is rebuilt. Until
// then the status and the API do not say that it is up to date.
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startMeilisearch } from '../../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { deriveIndexerKey, ensurePermanentKeys } from '../../../src/indexing/keys.ts'
import { readRegistration } from '../../../src/indexing/registration.ts'
import { isIndexUpToDate } from '../../../src/indexing/status.ts'
import { IndexStateFollower, readIndexStates } from '../../../src/search-engine/index-states.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'
import { buildIndexOf } from '../run-indexer.ts'

const masterKey = 'the master key of this test'
const registrationName = 'restored'
const indexName = 'restored'

async function openEngine(t: Test, directory: string) {
  const server = await startMeilisearch({ directory, masterKey })
  t.teardown(() => server.stop())
  const client = openIndexingClient(server.url, masterKey)
  await ensurePermanentKeys(client)
  const readNames = async () => {
    const { results } = await client.index(indexName).getDocuments<{ name: string }>()
    return results.map(({ name }) => name).sort()
  }
  return { server, readNames }
}

/** Runs an indexer until the index is up to date, and fails if it never is. Returns its log. */
const build = (databaseUrl: string, meiliUrl: string) =>
  buildIndexOf({
    databaseUrl,
    meiliUrl,
    indexerApiKey: deriveIndexerKey(masterKey),
    indexName,
    registrationName,
  })

t.test('detects an engine restored to a backup one batch old', async (t) => {
  const directory = createTemporaryDirectory(t, 'restore')
  const { db, url } = await testDatabase(t)
  const rename = (name: string) => db.updateTable('products').set({ name }).execute()
  await db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  const first = await openEngine(t, join(directory, 'engine'))
  t.match(await build(url, first.server.url), 'The index does not exist.')
  await rename('dos')
  await build(url, first.server.url)
  t.same(await first.readNames(), ['dos'])
  await first.server.stop()
  await cp(join(directory, 'engine'), join(directory, 'backup'), { recursive: true })

  const second = await openEngine(t, join(directory, 'engine'))
  await rename('tres')
  t.notMatch(await build(url, second.server.url), 'Building')
  t.same(await second.readNames(), ['tres'])
  await second.server.stop()

  const restored = await openEngine(t, join(directory, 'backup'))
  t.same(await restored.readNames(), ['dos'])
  t.match(await build(url, restored.server.url), 'The search engine was restored')
  t.same(await restored.readNames(), ['tres'])
  t.notMatch(await build(url, restored.server.url), 'Building', 'only once')
})

t.test(
  'detects a database that was restored from a copy, in the indexer and in the API',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'restore')
    const { url } = await testDatabase(t)
    const engine = await openEngine(t, join(directory, 'engine'))
    const run = async (statement: string) => {
      const db = openDatabase(url, { connectionTimeoutMs: 60_000 })
      await sql.raw(statement).execute(db)
      await db.destroy()
    }
    await run("insert into products (sku, name) values ('A-1', 'uno')")
    await build(url, engine.server.url)

    const name = new URL(url).pathname.slice(1)
    const adminUrl = Object.assign(new URL(url), { pathname: '/postgres' }).href
    const admin = openDatabase(adminUrl, { connections: 1, connectionTimeoutMs: 60_000 })
    t.teardown(() => admin.destroy())
    const copyDatabase = async (from: string, to: string) => {
      await sql`
      select pg_terminate_backend(pid) from pg_stat_activity where datname in (${from}, ${to})
    `.execute(admin)
      await sql`drop database if exists ${sql.id(to)} with (force)`.execute(admin)
      await sql`create database ${sql.id(to)} template ${sql.id(from)}`.execute(admin)
    }
    await copyDatabase(name, `${name}_backup`)
    t.teardown(() => sql`drop database ${sql.id(`${name}_backup`)} with (force)`.execute(admin))
    await run("insert into products (sku, name) values ('A-2', 'lost')")
    t.notMatch(await build(url, engine.server.url), 'Building')
    t.same(await engine.readNames(), ['lost', 'uno'])

    await copyDatabase(`${name}_backup`, name)
    const db = openDatabase(url, { connectionTimeoutMs: 60_000 })
    t.notOk(await isIndexUpToDate(db, registrationName), 'status does not claim that it is in step')
    const indexStates = new IndexStateFollower({
      db,
      registrationNames: [registrationName],
      onCompanyWordsVersion: () => undefined,
    })
    const state = await eventually(
      async () => indexStates.getLastKnownState(registrationName),
      ({ isOfThisDatabase }) => !isOfThisDatabase,
    )
    t.match(state, { isOfThisDatabase: false, version: null }, 'the API does not use the index')
    await indexStates.stop()
    await db.destroy()
    t.match(await build(url, engine.server.url), 'changes that this database does not have')
    t.same(await engine.readNames(), ['uno'])
    t.notMatch(await build(url, engine.server.url), 'Building', 'only once')

    await copyDatabase(name, `${name}_backup`)
    await copyDatabase(`${name}_backup`, name)
    t.match(
      await build(url, engine.server.url),
      'changes that this database does not have',
      'even if the engine has no newer task than the registration names',
    )
  },
)

t.test('detects a database whose files were restored, by the tasks of the engine', async (t) => {
  const directory = createTemporaryDirectory(t, 'restore')
  const engine = await openEngine(t, join(directory, 'engine'))
  const settings = { fsync: 'off', full_page_writes: 'on' }
  const open = async (place: string, more: Record<string, string> = {}) => {
    const server = await startPostgres({
      directory: join(directory, place),
      settings: { ...settings, ...more },
    })
    t.teardown(() => server.stop())
    const db = openDatabase(server.url, { connectionTimeoutMs: 60_000 })
    return { db, server, stop: () => db.destroy().then(() => server.stop()) }
  }
  const first = await open('postgres')
  await migrate(first.db)
  await first.db.insertInto('products').values({ sku: 'A-1', name: 'uno' }).execute()
  await build(first.server.url, engine.server.url)
  await first.stop()
  await cp(join(directory, 'postgres'), join(directory, 'backup'), { recursive: true })
  await cp(join(directory, 'postgres'), join(directory, 'timeline'), { recursive: true })
  const second = await open('postgres')
  await second.db.insertInto('products').values({ sku: 'A-2', name: 'lost' }).execute()
  await build(second.server.url, engine.server.url)
  t.same(await engine.readNames(), ['lost', 'uno'])
  const lostVersion = await readVersion(second.db)
  await second.stop()

  const restored = await open('backup')
  t.match(
    await build(restored.server.url, engine.server.url),
    'changes that this database does not have',
  )
  t.same(await engine.readNames(), ['uno'])
  const versions = [lostVersion, await readVersion(restored.db)]
  t.ok(
    versions.every(Boolean) && versions[0] !== versions[1],
    `no lost answer is valid: ${versions}`,
  )
  await restored.stop()

  await writeFile(join(directory, 'timeline/data/recovery.signal'), '')
  const promoted = await open('timeline', { restore_command: 'false' })
  // The copy is in recovery for a moment after it accepts connections.
  const isPromoted = await eventually(
    () => isPrimary(promoted.db),
    (found) => found,
  )
  t.equal(isPromoted, true)
  const registration = await readRegistration(promoted.db, registrationName)
  t.equal(registration?.isOfThisDatabase, false, 'after recovery the timeline is another one')
  const log = await build(promoted.server.url, engine.server.url)
  t.match(log, 'PostgreSQL has failed over', 'as after a failover')
  t.same(await engine.readNames(), ['uno'])
  await promoted.stop()
})

/** Returns the version of the index for which cached answers are valid. */
async function readVersion(db: Database): Promise<string | undefined> {
  const [state] = await readIndexStates(db, [registrationName])
  return state?.isUpToDate ? state.version : undefined
}

async function isPrimary(db: Database): Promise<boolean> {
  const { rows } = await sql<{ inRecovery: boolean }>`
    select pg_is_in_recovery() as "inRecovery"
  `.execute(db)
  return rows[0]?.inRecovery === false
}
