// API processes share their readings of the state of the indexes through Redis.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openRedis } from '../../src/redis/redis-connection.ts'
import {
  IndexStateFollower,
  shareIndexStates,
} from '../../src/search-engine/index-state-follower.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { unobserved } from '../support/servers/redis-topologies.ts'
import { testService } from '../support/service/test-service.ts'

/** Reads a second: more than the four of processes that share, fewer than twelve of three alone. */
const fewReads = 8

type Process = {
  postgres: FaultyProxy
  version(): string | null
  isUsed(): boolean
  wordsVersion(): string
}

const service = await testService(t)
const { db, config } = service

/** Starts what three processes would run, each with its own connections. */
async function startProcesses(t: Test) {
  const { redisUrl } = await servers()
  const redisProxy = await startFaultyProxy(t, redisUrl)
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  const processes: Process[] = []
  for (let number = 0; number < 3; number += 1) {
    const postgres = await startFaultyProxy(t, service.roles.api)
    const own = openDatabase(postgres.url, { connections: 2 })
    const redis = await openRedis(redisProxy.url)
    let wordsVersion = ''
    const indexStates = new IndexStateFollower({
      db: own,
      registrationNames: [config.SEARCH_ENGINE],
      onCompanyWordsVersion: (version) => {
        wordsVersion = version
      },
      sharedStates: shareIndexStates(unobserved(redis), prefix),
    })
    indexStates.start()
    t.teardown(async () => {
      await indexStates.stop()
      await own.destroy()
      redis.disconnect()
    })
    processes.push({
      postgres,
      version: () => indexStates.getLastKnownState(config.SEARCH_ENGINE).version,
      isUsed: () => indexStates.getLastKnownState(config.SEARCH_ENGINE).isOfThisDatabase,
      wordsVersion: () => wordsVersion,
    })
  }
  return { processes, redisProxy }
}

const countReads = (processes: Process[]) =>
  processes
    .map(({ postgres }) => postgres.getSentText().split('search_words_version').length - 1)
    .reduce((sum, count) => sum + count, 0)

async function readsPerSecond(processes: Process[]): Promise<number> {
  const [before, startedAt] = [countReads(processes), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  return ((countReads(processes) - before) * 1_000) / (performance.now() - startedAt)
}

const increaseVersion = async () => {
  const { version } = await db
    .updateTable('search_indexes')
    .set(({ eb }) => ({ version: eb('version', '+', '1') }))
    .where('registration_name', '=', config.SEARCH_ENGINE)
    .returning(
      sql<string>`concat_ws(
        ' ', database_identity(), extract(epoch from pg_postmaster_start_time()), version
      )`.as('version'),
    )
    .executeTakeFirstOrThrow()
  return version
}

const waitForVersion = (processes: Process[], version: string) =>
  eventually(
    async () => processes.map((one) => one.version()),
    (versions) => versions.every((one) => one === version),
  )

t.test('three processes read PostgreSQL as often as one, and notice changes', async (t) => {
  const { processes } = await startProcesses(t)
  await waitForVersion(processes, await increaseVersion())
  const perSecond = await eventually(
    () => readsPerSecond(processes),
    // On a busy machine Redis may be too slow, and then each process reads PostgreSQL itself.
    (reads) => reads > 1 && reads < fewReads,
    60_000,
  )
  t.ok(perSecond > 1 && perSecond < fewReads, `${perSecond} reads a second`)
  const version = await increaseVersion()
  t.same(await waitForVersion(processes, version), [version, version, version])
  t.ok(processes.every((one) => one.wordsVersion() !== ''))
})

t.test('a process without PostgreSQL uses what the others read', async (t) => {
  const { processes } = await startProcesses(t)
  await waitForVersion(processes, await increaseVersion())
  processes[0]?.postgres.refuseConnections()
  processes[1]?.postgres.stopForwarding()
  const version = await increaseVersion()
  t.same(await waitForVersion(processes, version), [version, version, version])
})

t.test('without Redis each process reads PostgreSQL', async (t) => {
  const { processes, redisProxy } = await startProcesses(t)
  await waitForVersion(processes, await increaseVersion())
  redisProxy.refuseConnections()
  const version = await increaseVersion()
  t.same(await waitForVersion(processes, version), [version, version, version])
  redisProxy.stopForwarding()
  const next = await increaseVersion()
  t.same(await waitForVersion(processes, next), [next, next, next])
})

t.test('without PostgreSQL no cached response is used', async (t) => {
  const { processes } = await startProcesses(t)
  await waitForVersion(processes, await increaseVersion())
  for (const { postgres } of processes) postgres.refuseConnections()
  const versions = await eventually(
    async () => processes.map((one) => one.version()),
    (all) => all.every((version) => version === null),
  )
  t.same(versions, [null, null, null])
})

t.test('an index of which the database has no record is not used', async (t) => {
  const { processes } = await startProcesses(t)
  await waitForVersion(processes, await increaseVersion())
  const areUsed = async (expected: boolean) => {
    const used = await eventually(
      async () => processes.map((one) => one.isUsed()),
      (all) => all.every((one) => one === expected),
    )
    t.same(used, [expected, expected, expected])
  }
  await areUsed(true)
  const { rows } = await service.pool.query('select * from search_indexes')
  await db.deleteFrom('search_indexes').execute()
  await areUsed(false)
  t.same(
    processes.map((one) => one.version()),
    [null, null, null],
    'no cached response is used',
  )
  await db
    .insertInto('search_indexes')
    .values({ ...rows[0], indexed_at: null })
    .execute()
  await areUsed(false)
  await db.updateTable('search_indexes').set({ indexed_at: new Date() }).execute()
  await areUsed(true)
})
