// Measures what REPLICA_DATABASE_URL saves the primary.
import { setTimeout as sleep } from 'node:timers/promises'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { startPostgresPair } from '../../test/cluster/postgres-pair.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { generateQuotes } from './support/data/generated-quotes.ts'
import { generateLines, insertLinkedQuote } from './support/data/linked-quotes.ts'
import { type LoadResult, startFixedRateLoad } from './support/load/fixed-rate-load.ts'
import { quantile } from './support/load/quantile.ts'
import { startApi } from './support/processes/api-process.ts'
import { readPostgresSeconds, readPostmasterPid } from './support/processes/postgres-processes.ts'

const help = `
Usage: node scripts/bench/replica.ts [--quotes N] [--rate N] [--seconds N] [--rounds N]

Starts a primary with a streaming replica, and the API without and with REPLICA_DATABASE_URL in
turn. Sends statistics of another period each time, and quote links as JSON, at a fixed rate. Prints
the processor time of both servers and the times of the answers.

  --quotes N   quotes with five lines each. Default: 100000
  --rate N     requests a second, half of them links. Default: 40
  --seconds N  duration of each measurement. Default: 15
  --rounds N   measurements without and with the replica. Default: 3
`

const options = {
  quotes: { type: 'string', default: '100000' },
  rate: { type: 'string', default: '40' },
  seconds: { type: 'string', default: '15' },
  rounds: { type: 'string', default: '3' },
} as const

const linkCount = 300
const linesPerLink = 50
const settleMs = 4_000
const firstDay = Date.UTC(2015, 0, 1)
const dayMs = 86_400_000
/** No two statistics of a run have the same period. */
let statsCount = 0

type Load = { url: string; authorization: string; tokens: string[]; perSecond: number; ms: number }

await runCommand(help, options, async (values) => {
  const closers: (() => unknown)[] = []
  const close = async () => {
    for (const one of closers.reverse()) await one()
  }
  process.once('SIGINT', () => void close().then(() => process.exit(130)))
  try {
    const servers = await benchServers()
    closers.push(() => servers.stop())
    const service = await benchService(servers, 'replica', [], { hasIndex: false })
    closers.push(() => service.close())
    const pair = await startPostgresPair({ teardown: (fn) => void closers.push(fn) })
    const [primaryUrl, replicaUrl] = splitHosts(pair.url)
    const db = openDatabase(primaryUrl, { connections: 2 })
    const replicaDb = openDatabase(replicaUrl, { connections: 1 })
    closers.push(() => Promise.all([db.destroy(), replicaDb.destroy()]))
    // Its own connections, because the processor time of those that end is read too late.
    const loadingDb = openDatabase(primaryUrl, { connections: 2 })
    const { authorization, tokens } = await addContents(loadingDb, Number(values.quotes))
    await loadingDb.destroy()
    await pair.waitForReplica()
    for (let round = 1; round <= Number(values.rounds); round++)
      for (const hasReplica of [false, true]) {
        const api = await startApi(
          { ...service, databaseUrl: primaryUrl },
          { SHED_DELAY_MS: '0', ...(hasReplica && { REPLICA_DATABASE_URL: replicaUrl }) },
        )
        await sleep(settleMs)
        const readSeconds = await openSeconds(db, replicaDb)
        const before = readSeconds()
        const ms = Number(values.seconds) * 1_000
        const perSecond = Number(values.rate)
        const results = await send({ url: api.url, authorization, tokens, perSecond, ms })
        const used = readSeconds().map((seconds, at) => seconds - (before[at] ?? 0))
        print(`${hasReplica ? 'with' : 'without'} a replica`, results, used, ms)
        await api.stop()
      }
  } finally {
    await close()
  }
  return 0
})

function splitHosts(url: string): [string, string] {
  const [, start, first, second, end] = /^(.*@)([^,]+),([^/]+)(\/[^?]*)/.exec(url) ?? []
  return [`${start}${first}${end}`, `${start}${second}${end}`]
}

async function addContents(db: Database, quoteCount: number) {
  await generateQuotes(db, quoteCount, { lines: 5, throughTriggers: 0, onProgress: () => {} })
  const tokens: string[] = []
  const lines = generateLines(linesPerLink)
  for (let n = 0; n < linkCount; n++) tokens.push(await insertLinkedQuote(db, `LINK-${n}`, lines))
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'bench',
    scopes: ['stats:read'],
    unlimited: true,
  })
  return { authorization: `Bearer ${key}`, tokens }
}

/** Returns a function that returns the processor time of both servers in seconds. */
async function openSeconds(db: Database, replicaDb: Database): Promise<() => number[]> {
  const pids = [await readPostmasterPid(db), await readPostmasterPid(replicaDb)]
  return () => pids.map(readPostgresSeconds)
}

async function send({ url, authorization, tokens, perSecond, ms }: Load): Promise<LoadResult[]> {
  const results: LoadResult[] = []
  const load = startFixedRateLoad({
    url,
    perSecond,
    next(number) {
      const headers = { authorization }
      if (number % 2 === 0)
        return { kind: 'links', path: `/quote/share/${tokens[number % linkCount]}?format=json` }
      statsCount += 1
      const from = new Date(firstDay + statsCount * dayMs).toISOString().slice(0, 10)
      return { kind: 'stats', path: `/api/stats?from=${from}&to=2026-12-31`, headers }
    },
    onResult: (result) => void results.push(result),
  })
  await sleep(ms)
  await load.stop()
  return results
}

function print(
  what: string,
  results: LoadResult[],
  [primary = 0, replica = 0]: number[],
  ms: number,
) {
  const percent = (seconds: number) => `${((seconds * 100_000) / ms).toFixed(1)} %`
  const failed = results.filter(({ status }) => status !== 200).length
  const times = ['stats', 'links'].map((kind) => {
    const sorted = results
      .filter((result) => result.kind === kind)
      .map((result) => result.ms)
      .sort((a, b) => a - b)
    const [p50, p95] = [quantile(sorted, 0.5), quantile(sorted, 0.95)]
    return `${kind} p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`
  })
  console.log(
    `${what}: primary ${percent(primary)} of a core, replica ${percent(replica)}; ` +
      `${times.join('; ')}; ${failed} of ${results.length} failed`,
  )
}
