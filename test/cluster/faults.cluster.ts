// The service on several machines, as real processes under a steady load, with one fault after the
// other. Counts failed answers, and compares everything with PostgreSQL after each fault.
// Alone: it counts failed answers under load.
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { readIndexStatuses } from '../../src/indexing/status.ts'
import { createQuoteLinkWithDetails, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { eventually } from '../support/eventually.ts'
import { checkAgreement } from './agreement.ts'
import { readJson, readStatus } from './direct-requests.ts'
import { describeFault, type FaultRow, publishTables } from './fault-report.ts'
import { checkRequiredPrograms } from './haproxy.ts'
import { type ServiceCluster, startServiceCluster } from './service-cluster.ts'
import { startTraffic, type Traffic } from './traffic.ts'
import { untilWhole } from './whole-again.ts'

/** How long quote links may fail when PostgreSQL changes its primary. */
const linksMayFailMs = 2_000
/** How long a killed process stays away. */
const awayMs = 2_000
const outageMs = 12_000
const promotionAfterMs = 1_000
/** Longer than the other indexer waits before it takes over. */
const indexerAwayMs = 9_000
const settlingMs = 1_000
/** Longer than HAProxy lets a request take to arrive. */
const restMs = 12_000
const promotionLimitMs = 30_000
/** Of each fault, so that an outage does not fill the screen. */
const shownFailures = 3

type Fault = {
  name: string
  /** Causes the fault, and ends it if it ends by itself. */
  cause(cluster: ServiceCluster, t: Test): Promise<void>
  /** 0 if not given. */
  linksMayFailMs?: number
  /** Prepares the next fault. Not part of the measured time. */
  tidyUp?(cluster: ServiceCluster): Promise<void>
}

const faults: Fault[] = [
  { name: 'none', cause: async () => undefined },
  { name: 'an API process killed', cause: killApi },
  { name: 'Redis primary killed, Sentinels promote', cause: killRedisPrimary },
  { name: 'rolling restart of three, onto a Redis Cluster', cause: restartOntoRedisCluster },
  { name: 'Redis Cluster node killed', cause: killRedisClusterNode },
  { name: 'an engine killed', cause: ({ engines }) => engines[0].process.kill(awayMs) },
  { name: 'both engines killed', cause: killBothEngines },
  { name: 'the indexer at work killed', cause: killIndexerAtWork },
  { name: 'PostgreSQL switched over', cause: switchOver, linksMayFailMs, tidyUp: rebuildReplica },
  {
    name: 'PostgreSQL killed, replica promoted',
    cause: failOver,
    linksMayFailMs,
    tidyUp: rebuildReplica,
  },
  {
    name: `PostgreSQL away for ${outageMs / 1_000} s`,
    cause: stayAway,
    // Links need PostgreSQL: they may fail while it is away, and for as long as above afterwards.
    linksMayFailMs: outageMs + linksMayFailMs,
  },
  { name: 'failover that loses commits', cause: loseCommits, linksMayFailMs },
]

t.test('no fault fails more answers than it may', { timeout: 280_000 }, async (t) => {
  checkRequiredPrograms()
  const startedAt = performance.now()
  const cluster = await startServiceCluster(t)
  const rows: FaultRow[] = []
  t.teardown(() => publishTables(rows))
  t.same(await untilWhole(cluster), [], 'everything is indexed')
  const traffic = startTraffic(cluster)
  t.teardown(() => traffic.stop())
  const resting = askTwice(cluster.haproxy.url)
  // Awaited at the end.
  resting.catch(() => undefined)
  await sleep(settlingMs)
  progress(`everything runs after ${Math.round((performance.now() - startedAt) / 1_000)} s`)
  for (const fault of faults)
    await t.test(fault.name, async (t) => {
      rows.push(await playFault(t, fault, cluster, traffic))
    })
  await traffic.stop()
  t.same(await resting, { statuses: [200, 200], isReused: true }, 'connections may rest')
  t.same(cluster.unexpectedExits, [], 'no program ended by itself')
  checkLog(t, cluster)
})

async function playFault(
  t: Test,
  { name, cause, linksMayFailMs = 0, tidyUp }: Fault,
  cluster: ServiceCluster,
  traffic: Traffic,
): Promise<FaultRow> {
  progress(name)
  const from = performance.now()
  await cause(cluster, t)
  await traffic.pauseWrites()
  t.same(await untilWhole(cluster), [], 'index, figures and answers are as in PostgreSQL')
  const recoveryMs = performance.now() - from
  await checkAgreement(t, cluster)
  await tidyUp?.(cluster)
  traffic.continueWrites()
  await sleep(settlingMs)
  const to = performance.now()
  const results = traffic.results.filter(({ dueAt }) => dueAt >= from && dueAt < to)
  const row = describeFault(name, results, { from, recoveryMs })
  const failed = results.filter(({ status }) => status !== 200)
  for (const { kind, dueAt, status, problem = '' } of failed.slice(0, shownFailures))
    progress(`  failed after ${Math.round(dueAt - from)} ms: ${kind} ${status} ${shorten(problem)}`)
  t.equal(row.failed.search, 0, 'no search failed')
  t.equal(row.failed.stats, 0, 'no statistics failed')
  if (linksMayFailMs === 0) t.equal(row.failed.links, 0, 'no quote link failed')
  else t.ok(row.failedLinksMs <= linksMayFailMs, `links failed for ${row.failedLinksMs} ms`)
  return row
}

async function killApi({ apis }: ServiceCluster): Promise<void> {
  await apis[0]?.process.kill(awayMs)
}

async function killRedisPrimary({ sentinels }: ServiceCluster, t: Test): Promise<void> {
  await killRedis(t, sentinels.primary, sentinels.replica)
}

/** Restarts one process after the other, as an upgrade does. */
async function restartOntoRedisCluster({ apis, redisCluster }: ServiceCluster): Promise<void> {
  for (const { env, process } of apis) {
    env.REDIS_URL = redisCluster.url
    await process.restart(0)
  }
}

/** The first three nodes are primaries, and the others their replicas in the same order. */
async function killRedisClusterNode({ redisCluster }: ServiceCluster, t: Test): Promise<void> {
  const [node, , , replica] = redisCluster.nodes
  await killRedis(t, node, replica)
}

/** Resolves when the replica has been promoted. */
async function killRedis(t: Test, primary?: RunningServer, replica?: RunningServer) {
  process.kill(primary?.pid ?? 0, 'SIGKILL')
  const client = new Redis(replica?.url ?? '')
  const isPromoted = async () => (await client.info('replication')).includes('role:master')
  t.ok(await eventually(isPromoted, Boolean, promotionLimitMs), 'the replica has been promoted')
  client.disconnect()
}

async function killBothEngines({ engines }: ServiceCluster): Promise<void> {
  await Promise.all(engines.map(({ process }) => process.kill(awayMs)))
}

/** Both indexers of the first engine are started again later, so the other one must take over. */
async function killIndexerAtWork(cluster: ServiceCluster, t: Test): Promise<void> {
  const { indexers, db } = cluster
  const readHolder = async () => {
    const engines = await readIndexStatuses(db)
    return engines.find(({ registrationName }) => registrationName.startsWith('main'))?.holder ?? ''
  }
  const holder = await readHolder()
  const atWork = indexers.find(({ pid }) => holder.includes(`process ${pid},`))
  t.ok(atWork, `the indexer at work is known: ${holder}`)
  const isBack = atWork?.kill(indexerAwayMs)
  const successor = await eventually(readHolder, (now) => now !== '' && now !== holder)
  t.not(successor, holder, 'another indexer has taken over')
  t.teardown(() => isBack)
}

async function switchOver({ postgres }: ServiceCluster): Promise<void> {
  await postgres.stopPrimary()
  await postgres.promoteReplica()
}

async function failOver({ postgres }: ServiceCluster): Promise<void> {
  await postgres.waitForReplica()
  await postgres.crashPrimary()
  await sleep(promotionAfterMs)
  await postgres.promoteReplica()
}

async function stayAway({ postgres }: ServiceCluster): Promise<void> {
  await postgres.crashPrimary()
  await sleep(outageMs)
  await postgres.startPrimary()
}

function rebuildReplica({ postgres }: ServiceCluster): Promise<void> {
  return postgres.rebuildReplica()
}

/**
 * What was committed after the replication was cut is lost, although search and figures have shown
 * it.
 */
async function loseCommits(cluster: ServiceCluster, t: Test): Promise<void> {
  const { postgres, db, apis } = cluster
  const link = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  await postgres.waitForReplica()
  await postgres.cutReplication()
  await db.updateTable('products').set({ name: 'Perdido' }).where('sku', '=', 'SKU-1').execute()
  await db.insertInto('products').values({ sku: 'LOST', name: 'Perdido' }).execute()
  await revokeQuoteLink(db, link.id)
  const search = () =>
    Promise.all(
      apis.map(async ({ url }) => {
        const { hits } = await readJson<{ hits: unknown[] }>(`${url}/api/search?q=perdido`)
        return hits.length
      }),
    )
  const found = await eventually(search, (counts) => counts.every((count) => count === 2))
  t.same(found, [2, 2, 2], 'every process finds what will be lost')
  await postgres.crashPrimary()
  await sleep(promotionAfterMs)
  await postgres.promoteReplica()
  const kept = await eventually(search, (counts) => counts.every((count) => count === 0), 60_000)
  t.same(kept, [0, 0, 0], 'no process finds what was lost')
  const statuses = await Promise.all(
    apis.map(({ url }) => readStatus(`${url}/quote/share/${link.token}?format=json`)),
  )
  // Replication is asynchronous here: the runbook says that a revocation may be lost.
  t.same(statuses, [200, 200, 200], 'all processes agree on a link whose revocation was lost')
}

/** A request that meets the end of its resting connection fails, so that end must come late. */
async function askTwice(url: string): Promise<{ statuses: number[]; isReused: boolean }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = () =>
    new Promise<{ status: number; isReused: boolean }>((resolve, reject) => {
      const asked = get(`${url}/api/search?q=broca`, { agent }, (response) => {
        response.resume()
        const status = response.statusCode ?? 0
        response.once('end', () => resolve({ status, isReused: asked.reusedSocket }))
      })
      asked.once('error', reject)
    })
  const first = await ask()
  await sleep(restMs)
  const second = await ask()
  agent.destroy()
  return { statuses: [first.status, second.status], isReused: second.isReused }
}

/** HAProxy must have answered everything, and its log must not open a quote. */
function checkLog(t: Test, { haproxy, tokens }: ServiceCluster): void {
  const log = haproxy.readLog()
  t.match(log, /GET \/quote\/share\/\*\*\*/, 'quote links are logged without their token')
  for (const token of tokens) t.notOk(log.includes(token), 'the log contains no token')
  t.notMatch(log, 'martillo', 'the log contains no text of a search')
}

/** The standard output of a test is TAP. */
function progress(line: string): void {
  process.stderr.write(`  ${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

function shorten(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 100)
}
