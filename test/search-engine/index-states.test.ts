// What a process knows of its indexes: their version, and whether this database has built them.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { IndexStateFollower } from '../../src/search-engine/index-states.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { testService } from '../support/service/test-service.ts'

const { db, config, pool, roles } = await testService(t)
const name = config.SEARCH_ENGINE
const postgres = await startFaultyProxy(t, roles.api)
const own = openDatabase(postgres.url, { connections: 2 })
const wordsVersions = new Set<string>()
const follower = new IndexStateFollower({
  db: own,
  registrationNames: [name],
  onCompanyWordsVersion: (version) => wordsVersions.add(version),
})
t.teardown(async () => {
  await follower.stop()
  await own.destroy()
})

type State = ReturnType<typeof follower.getLastKnownState>
const untilState = (check: (state: State) => boolean) =>
  eventually(async () => follower.getLastKnownState(name), check)

async function increaseVersion(): Promise<string> {
  const { version } = await db
    .updateTable('search_indexes')
    .set(({ eb }) => ({ version: eb('version', '+', '1') }))
    .where('registration_name', '=', name)
    .returning(
      sql<string>`concat_ws(
        ' ', database_identity(), extract(epoch from pg_postmaster_start_time()), version
      )`.as('version'),
    )
    .executeTakeFirstOrThrow()
  return version
}

const followsChanges = async () => {
  const version = await increaseVersion()
  const state = await untilState((found) => found.version === version)
  t.match(state, { version, isOfThisDatabase: true })
}

t.test('notices changes, and uses no cached response without PostgreSQL', async (t) => {
  await followsChanges()
  t.equal(wordsVersions.size, 1)
  for (const fault of ['refuseConnections', 'stopForwarding'] as const) {
    postgres[fault]()
    t.match(await untilState(({ version }) => version === null), { version: null })
    postgres.restore()
    await followsChanges()
  }
})

t.test('an index of which the database has no record is not used', async (t) => {
  const untilUsed = async (expected: boolean) =>
    t.match(await untilState(({ isOfThisDatabase }) => isOfThisDatabase === expected), {
      isOfThisDatabase: expected,
    })
  const { rows } = await pool.query('select * from search_indexes')
  await db.deleteFrom('search_indexes').execute()
  await untilUsed(false)
  t.equal(follower.getLastKnownState(name).version, null, 'no cached response is used')
  await db
    .insertInto('search_indexes')
    .values({ ...rows[0], state: 'unknown' })
    .execute()
  await untilUsed(false)
  await db.updateTable('search_indexes').set({ state: 'settled' }).execute()
  await untilUsed(true)
})
