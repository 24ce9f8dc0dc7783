// REPLICA_DATABASE_URL: statistics and documents come from a replica that keeps up, and never from
// a state that a caller must not see.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { generateLines, insertLinkedQuote } from '../../scripts/bench/support/data/linked-quotes.ts'
import { readDatabaseId, readTimeline } from '../../src/database/database-identity.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { Replica } from '../../src/database/replica/replica.ts'
import {
  maxReplicaLagMs,
  type ReplicaStatus,
  readReplicaState,
} from '../../src/database/replica/replica-state.ts'
import { buildApiOperationsApp } from '../../src/monitoring/api-operations-app.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { queryReplicatedDocument } from '../../src/quotes/links/link-access.ts'
import { createQuoteLinkWithDetails, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { readLink } from '../../src/quotes/links/read-link.ts'
import { maxAgeMs } from '../../src/stats/cache/shared-data-version.ts'
import { readStatsPreferringReplica } from '../../src/stats/stats-source.ts'
import { readVersion } from '../../src/stats/summary/data-version.ts'
import { insertQuote } from '../stats/insert-quotes.ts'
import { findWrongResponses, requestStats, statsService } from '../stats/stats-service.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { company } from '../support/database/company.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { startReplicatedPostgres } from '../support/servers/postgres-replication.ts'
import { readMetric } from '../support/service/read-metric.ts'
import type { testService } from '../support/service/test-service.ts'

// These tests mostly wait.
t.jobs = 2

/** Long, because the machine that runs the tests may be slow. */
const limitMs = 60_000

/** Between two requests, because requests without a pause would use a processor alone. */
const pauseMs = 10

type ServiceOptions = Parameters<typeof testService>[1]

/** A service that reads from a replica, with what it logs and counts about it. */
async function startService(t: Test, options: ServiceOptions) {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => {
    // A busy machine may answer no check for a while.
    if (line.includes('replica') && !line.includes('does not answer'))
      lines.push(JSON.parse(line).msg)
  }
  const service = await statsService(t, { ...options, metrics, log })
  const counted = (read: 'statistics' | 'document', outcome: string) =>
    readMetric(metrics, 'tqs_replica_reads_total', { read, outcome })
  let queries = 0
  return {
    ...service,
    lines,
    lag: () => readMetric(metrics, 'tqs_replica_lag_seconds'),
    used: (read: 'statistics' | 'document') => counted(read, 'used'),
    counted,
    waitFor: (status: ReplicaStatus) =>
      eventually(
        async () => metrics.replica.getStatus(),
        (current) => current === status,
        limitMs,
      ),
    /** Requests statistics that no cache has. Each period contains all quotes of the tests. */
    request: () => {
      queries += 1
      const day = new Date(Date.UTC(2000, 0, queries)).toISOString().slice(0, 10)
      return requestStats(service, `?from=${day}&to=2030-12-31`)
    },
    ready: async () => {
      const unused = { count: 0, oldestSeconds: 0 }
      const operations = buildApiOperationsApp({
        db: service.db,
        redis: null,
        engine: service.engine,
        pool: service.pool,
        metrics,
        readIndexProgress: async () => [],
        readUnfoldedChanges: async () => unused,
        readDrift: async () => ({ differentRowCount: 0, checkAgeSeconds: 0 }),
      })
      const ready = (await operations.inject('/health/ready')).json()
      const { body } = await operations.inject('/metrics')
      const up = /^tqs_replica_up (\d)/m.exec(body)?.[1]
      return { ...ready, up }
    },
  }
}

/** A service with a replica of its database. */
async function startWithReplica(t: Test) {
  const postgres = await startReplicatedPostgres(t)
  const { database, replicaUrl } = postgres
  const service = await startService(t, { database, replicaUrl })
  return { postgres, db: database.db, service }
}

t.test('statistics of a replica that keeps up or pauses are never wrong', async (t) => {
  const { postgres, db, service } = await startWithReplica(t)
  t.equal(await service.waitFor('up'), 'up')
  let isPausing = true
  const pause = async () => {
    await sleep(2_000)
    for (const replayPauseMs of [300, 900, 2_500]) {
      await postgres.pauseReplay()
      await sleep(replayPauseMs)
      await postgres.resumeReplay()
      await sleep(1_500)
    }
    isPausing = false
  }
  const totals: (number | null)[] = []
  const read = async () => {
    while (isPausing) {
      totals.push((await service.request()).total)
      await sleep(pauseMs)
    }
  }
  const [wrongAnswers] = await Promise.all([
    findWrongResponses(db, [service], 12_000),
    pause(),
    read(),
  ])
  t.same(wrongAnswers, [])
  const used = await eventually(
    async () => {
      await service.request()
      return service.used('statistics')
    },
    (count) => count > 0,
    limitMs,
  )
  t.ok(used > 0)
  t.comment(`${used} responses came from the replica`)
  const backwards = totals.filter((total, index) => (total ?? 0) < (totals[index - 1] ?? 0))
  t.same(backwards, [], `no figure went backwards in ${totals.length} different requests`)
})

t.test('a paused replica: a change is visible and a revoked link closed', async (t) => {
  const { postgres, db, service } = await startWithReplica(t)
  const open = (token: string) => service.app.inject(`/quote/share/${token}?format=json`)
  await addQuote(db, 'P-1', { status: 'accepted', decided_on: '2026-11-02' })
  t.equal(await service.waitFor('up'), 'up')
  t.match(await service.ready(), { checks: { replica: 'up' }, up: '1' })
  t.notMatch((await service.ready()).degraded, ['replica'])
  const rendered = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  const fresh = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  await eventually(
    async () => {
      const { token } = await createQuoteLinkWithDetails(db, { number: 'P-1' })
      t.equal((await open(token)).statusCode, 200)
      return service.used('document')
    },
    (count) => count > 0,
    limitMs,
  )
  t.ok((await service.used('document')) > 0, 'a document came from the replica')
  t.equal((await open(rendered.token)).statusCode, 200)

  await postgres.pauseReplay()
  for (const { id, token } of [rendered, fresh]) {
    t.ok(await revokeQuoteLink(db, id))
    t.equal((await open(token)).statusCode, 410, 'the replica still shows it as open')
  }
  const later = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  t.equal((await open(later.token)).statusCode, 200, 'the replica does not have it')
  await insertQuote(db, 'after')
  const visible = await eventually(
    service.request,
    ({ total, cacheStatus }) => total === 2 && !cacheStatus.includes('stale'),
    limitMs,
  )
  t.match(visible, { status: 200, total: 2 })
  t.equal(await service.waitFor('behind'), 'behind')
  const { degraded, ...health } = await service.ready()
  t.match(health, { status: 'degraded', checks: { replica: 'behind' }, up: '0' })
  t.ok(degraded.includes('replica'), `${degraded}`)
  t.ok(await eventually(service.lag, (seconds) => seconds > 3, limitMs))

  await postgres.resumeReplay()
  t.equal(await service.waitFor('up'), 'up')
  const before = await service.used('statistics')
  await eventually(
    async () => {
      t.equal((await service.request()).total, 2)
      return service.used('statistics')
    },
    (count) => count > before,
    limitMs,
  )
  t.ok((await service.used('statistics')) > before, 'the replica is used again')
  const behind = 'the replica is not used: it is too far behind. The primary is read instead'
  t.equal(service.lines.filter((line) => line === behind).length, 1, 'one line')
})

t.test('a replica shows no document that was altered, before and after it has it', async (t) => {
  const { postgres, db, service } = await startWithReplica(t)
  const replicaDb = openDatabase(postgres.replicaUrl, { connections: 1 })
  t.teardown(() => replicaDb.destroy())
  await addQuote(db, 'P-1')
  const { token } = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  const readOpenLink = async (from: Database) => {
    const link = await readLink(from, token, { timeZone: 'Europe/Madrid', now: new Date() })
    return link.state === 'open' ? link : null
  }
  const readFromReplica = async () => {
    const link = await readOpenLink(db)
    return link && queryReplicatedDocument(replicaDb, token, link)
  }
  t.match(await eventually(readFromReplica, Boolean, limitMs), 'Martillo')
  t.equal(await service.waitFor('up'), 'up')

  await postgres.pauseReplay()
  await sql`alter table quote_shares disable trigger guard`.execute(db)
  await sql`alter table quote_shares drop constraint quote_shares_hash_is_of_document`.execute(db)
  await sql`update quote_shares set document = replace(document, 'Martillo', 'Oro')`.execute(db)
  t.equal(await readFromReplica(), null, 'the replica has the row of before')
  await postgres.resumeReplay()
  t.match(await eventually(readFromReplica, Boolean, limitMs), 'Oro', 'the replica has the change')
  t.equal(await service.waitFor('up'), 'up')
  const rejected = await eventually(
    async () => {
      const response = await service.app.inject(`/quote/share/${token}?format=json`)
      t.equal(response.statusCode, 503, 'its document does not match the hash')
      t.notMatch(response.body, 'Oro')
      return service.counted('document', 'behind')
    },
    (count) => count > 0,
    limitMs,
  )
  t.ok(rejected > 0, 'the document of the replica was rejected too')
})

/**
 * A primary with one quote and a replica that contains it and replays nothing more. Nobody checks
 * the replica any more, so it counts as up.
 */
async function startPausedReplica(t: Test) {
  const postgres = await startReplicatedPostgres(t)
  const { db } = postgres.database
  const replicaDb = openDatabase(postgres.replicaUrl, { connections: 2 })
  const log = { info: () => undefined, warn: () => undefined }
  const replica = new Replica(replicaDb, { log, observer: createMetrics().replica })
  t.teardown(() => replicaDb.destroy())
  /** Adds the state of the primary to the history. `position` replaces that of the WAL. */
  const addState = async (position?: number) => {
    const readAt = performance.now()
    const { version, walPosition } = await readVersion(db)
    const [databaseId, timeline] = [(await readDatabaseId(db)) ?? '', await readTimeline(db)]
    if (timeline === null) throw new Error('The primary is in recovery.')
    replica.history.add({
      ...{ databaseId, timeline, version, readAt },
      position: position ?? walPosition,
    })
  }
  const readTotal = async (isPrimaryFailing: boolean) => {
    const source = { db, replica, company, isPrimaryFailing: () => isPrimaryFailing }
    const { stats } = await readStatsPreferringReplica(source, {
      ...{ from: '2000-01-01', to: '2030-12-31', today: '2026-11-23', date: 'issued' },
    })
    return stats.quotes.total
  }
  await insertQuote(db, 'before')
  replica.start()
  await eventually(
    async () => {
      await addState()
      const replayed = await readVersion(replicaDb)
      return replica.isUsable() && replayed.version.changeCount === 1
    },
    Boolean,
    limitMs,
  )
  await replica.stop()
  await postgres.pauseReplay()
  const { position: replayed } = await readReplicaState(replicaDb)
  return { db, replica, replayed, addState, readTotal }
}

t.test('statistics that are older than the bound come from the primary', async (t) => {
  const { db, replica, addState, readTotal } = await startPausedReplica(t)
  const pausedAt = performance.now()
  await insertQuote(db, 'after')
  await addState()
  await eventually(
    async () => performance.now() - pausedAt,
    (ageMs) => ageMs > maxReplicaLagMs,
    limitMs,
  )
  t.ok(replica.isUsable())
  t.equal(await readTotal(false), 2, 'the replica lacks a commit that is older than the bound')
  t.equal(await readTotal(true), 1, 'without the primary there is no bound')
})

t.test('statistics are not labelled with a version that the replica lacks', async (t) => {
  const { db, replayed, addState, readTotal } = await startPausedReplica(t)
  // With synchronous_commit = off, a version is visible before its commit is flushed. The replica
  // may then have replayed the position that was read with the version, but not the commit.
  t.equal(await readTotal(true), 1)
  await insertQuote(db, 'after')
  await addState(replayed)
  t.equal(await readTotal(true), 2, 'the replica has counted fewer changes')
  await db.transaction().execute(async (transaction) => {
    await sql`delete from quotes`.execute(transaction)
    await sql`select rebuild_quote_summary()`.execute(transaction)
  })
  await addState(replayed)
  t.equal(await readTotal(true), 0, 'a rebuild counts from zero again')
})

t.test('a large page is read from the replica, and counted', async (t) => {
  const { postgres, db, service } = await startWithReplica(t)
  t.equal(await service.waitFor('up'), 'up')
  const open = async (number: string) => {
    const token = await insertLinkedQuote(db, number, generateLines(200))
    // A busy machine may not render so many lines within the limit.
    const response = await eventually(
      () => service.app.inject(`/quote/share/${token}?format=json`),
      ({ statusCode }) => statusCode !== 503,
      limitMs,
    )
    t.equal(response.statusCode, 200)
    t.equal(response.json<{ document: { lines: unknown[] } }>().document.lines.length, 200)
  }
  let opened = 0
  await eventually(
    async () => {
      opened += 1
      await open(`LARGE-${opened}`)
      return service.used('document')
    },
    (count) => count > 0,
    limitMs,
  )
  t.ok((await service.used('document')) > 0, 'a large document came from the replica')

  // The replica does not have the next quote, so the primary is read.
  await postgres.pauseReplay()
  const before = await service.counted('document', 'behind')
  await open('LARGE-ON-PRIMARY')
  t.ok((await service.counted('document', 'behind')) > before)
})

t.test('a killed and a promoted replica cost no answer', async (t) => {
  const postgres = await startReplicatedPostgres(t)
  const { database } = postgres
  await addQuote(database.db, 'P-1', { status: 'accepted', decided_on: '2026-11-02' })
  const primary = await startFaultyProxy(t, database.roles.api)
  const service = await startService(t, {
    database,
    replicaUrl: postgres.replicaUrl,
    apiUrl: primary.url,
  })
  const requestFor = async (durationMs: number) => {
    const end = performance.now() + durationMs
    while (performance.now() < end) {
      t.match(await service.request(), { status: 200, total: 1 })
      await sleep(pauseMs)
    }
  }
  t.equal(await service.waitFor('up'), 'up')
  await postgres.crashReplica()
  await requestFor(3_000)
  t.equal(await service.waitFor('unreachable'), 'unreachable')
  await postgres.restartReplica()
  t.equal(await service.waitFor('up'), 'up')
  await requestFor(500)

  // The primary disappears: the replica has statistics that no cache has, and says how old they
  // are.
  primary.refuseConnections()
  await sleep(maxAgeMs + 500)
  const stale = await eventually(service.request, ({ status }) => status === 200, limitMs)
  t.match(stale, { status: 200, total: 1, cacheStatus: /fwd=stale/ })
  t.ok(stale.age >= 2, `${stale.age} s`)
  primary.restore()

  await postgres.promoteReplica()
  t.equal(await service.waitFor('promoted'), 'promoted')
  await insertQuote(database.db, 'on the primary')
  t.match(
    await eventually(service.request, ({ total }) => total === 2, limitMs),
    { status: 200, total: 2 },
    'not from the promoted replica',
  )
  t.match(await service.ready(), { checks: { replica: 'promoted' } })
})

t.test('a replica that answers checks but is too slow does not delay each request', async (t) => {
  const postgres = await startReplicatedPostgres(t)
  const { database } = postgres
  await addQuote(database.db, 'P-1', { status: 'accepted', decided_on: '2026-11-02' })
  const proxy = await startFaultyProxy(t, postgres.replicaUrl)
  const service = await startService(t, { database, replicaUrl: proxy.url })
  t.equal(await service.waitFor('up'), 'up')
  const untilUsedAgain = async () => {
    const before = await service.used('statistics')
    const request = async () => {
      t.match(await service.request(), { status: 200, total: 1 })
      return service.used('statistics')
    }
    return (await eventually(request, (count) => count > before, limitMs)) > before
  }
  t.ok(await untilUsedAgain())

  // Figures are read in such a transaction, and checks are not.
  proxy.slowText = 'repeatable read'
  const slowRequests = 20
  for (let sent = 0; sent < slowRequests; sent++)
    t.match(await service.request(), { status: 200, total: 1 })
  const failed = await service.counted('statistics', 'failed')
  t.ok(failed > 0, 'the replica was too slow')
  t.ok(failed < slowRequests / 2, `${failed} of ${slowRequests} requests waited for the replica`)
  const logged = service.lines.filter((line) => line.startsWith('reading the replica failed'))
  t.equal(logged.length, 1, 'one line, although checks succeed and several reads failed')

  proxy.slowText = null
  t.ok(await untilUsedAgain(), 'the replica is used again')
})

t.test('the replica of another database is not used', async (t) => {
  const [own, other] = [await testDatabase(t), await testDatabase(t)]
  await insertQuote(other.db, 'elsewhere')
  const service = await startService(t, { database: own, replicaUrl: other.roles.api })
  t.equal(await service.waitFor('other database'), 'other database')
  t.match(await service.request(), { status: 200, total: 0 })
  const same = await startService(t, { database: own, replicaUrl: own.roles.api })
  t.equal(await same.waitFor('promoted'), 'promoted')
  t.match(same.lines, [/^the replica is not used: it is a primary/])
})
