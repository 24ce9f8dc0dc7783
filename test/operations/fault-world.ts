// A running service with Prometheus, on which real faults are caused: an API process, an indexer,
// and a proxy in front of each server. The rules are those of deploy/alerts.yml with shorter times.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Test } from 'tap'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { deriveIndexerKey } from '../../src/indexing/keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { nameWithoutVersion } from '../../src/search-engine/index-name.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { startApi, testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

type Targets = Record<'trade-quoting-service' | 'trade-quoting-service-indexer', number[]>

const rulesFile = join(import.meta.dirname, '../../deploy/alerts.yml')
/** Starting a program, or the end of a fault, on a slow machine. */
const patienceMs = 60_000

/** Thresholds that are times. Nobody waits that long in a test. */
const shorterTimes = [
  ['(tqs_index_lag_seconds) > 60', '(tqs_index_lag_seconds) > 5'],
  ['max(tqs_stats_drift_check_age_seconds) > 900', 'max(tqs_stats_drift_check_age_seconds) > 80'],
  [
    'increase(tqs_stats_fold_failures_total[5m]) > 10',
    'increase(tqs_stats_fold_failures_total[5m]) > 3',
  ],
] as const

/** Returns the rules with windows of ten seconds. The expressions stay as they are otherwise. */
function shortenRules(): string {
  let text = readFileSync(rulesFile, 'utf8')
  for (const [from, to] of shorterTimes) {
    if (!text.includes(from)) throw new Error(`deploy/alerts.yml does not contain ${from}`)
    text = text.replace(from, to)
  }
  return text
    .replace(/\[\d+[mh]\]/g, '[10s]')
    .replace(/offset \d+[mh]/g, 'offset 10s')
    .replace(/for: \d+[mh]/g, 'for: 1s')
}

export type Prometheus = {
  /** Changes which processes are scraped, as discovery does. */
  setTargets(targets: Targets): void
  /** Returns the names of the alerts that fire. */
  listFiring(): Promise<string[]>
  /** Resolves with those of these alerts that do not fire within `limitMs`. */
  waitFor(alerts: string[], limitMs?: number): Promise<string[]>
}

/**
 * Starts Prometheus, which scrapes and evaluates every second. It ends with the test, also if the
 * test is killed.
 */
export async function startPrometheus(t: Test): Promise<Prometheus> {
  const directory = createTemporaryDirectory(t, 'prometheus')
  const targetFile = (job: string) => join(directory, `${job}.json`)
  const setTargets = (targets: Targets) => {
    for (const [job, ports] of Object.entries(targets))
      writeFileSync(
        targetFile(job),
        JSON.stringify([{ targets: ports.map((port) => `127.0.0.1:${port}`) }]),
      )
  }
  setTargets({ 'trade-quoting-service': [], 'trade-quoting-service-indexer': [] })
  writeFileSync(join(directory, 'alerts.yml'), shortenRules())
  const jobs = ['trade-quoting-service', 'trade-quoting-service-indexer'].map((job) => ({
    job_name: job,
    file_sd_configs: [{ files: [targetFile(job)], refresh_interval: '1s' }],
  }))
  // JSON is YAML too. A scrape takes more than a second while PostgreSQL does not answer.
  writeFileSync(
    join(directory, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
      rule_files: [join(directory, 'alerts.yml')],
      scrape_configs: jobs,
    }),
  )
  const port = await chooseFixedPort()
  const output = openSync(join(directory, 'log'), 'w')
  const process = spawnChild(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { cwd: directory, stopSignal: 'SIGKILL', output },
  )
  closeSync(output)
  t.teardown(() => stopPrometheus(process, directory))
  const listFiring = async (): Promise<string[]> => {
    const query = encodeURIComponent('group by (alertname) (ALERTS{alertstate="firing"})')
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${query}`)
    const { data } = (await response.json()) as {
      data: { result: { metric: { alertname: string } }[] }
    }
    return data.result.map(({ metric }) => metric.alertname).sort()
  }
  const isUp = await eventually(
    () => listFiring().then(Boolean, () => false),
    (up) => up,
    patienceMs,
  )
  if (!isUp) throw new Error('Prometheus did not start: install the package prometheus of Debian.')
  return {
    setTargets,
    listFiring,
    async waitFor(alerts, limitMs = 120_000) {
      const missing = new Set(alerts)
      await eventually(
        async () => {
          for (const alert of await listFiring()) missing.delete(alert)
          return missing.size
        },
        (count) => count === 0,
        limitMs,
      )
      return [...missing]
    },
  }
}

async function stopPrometheus(process: ChildProcess, directory: string): Promise<void> {
  const exit = new Promise((resolve) => process.once('exit', resolve))
  process.kill('SIGKILL')
  await exit
  rmSync(directory, { recursive: true, force: true })
}

export type FaultWorld = Awaited<ReturnType<typeof startFaultWorld>>

/** Starts everything and waits until the index is built. It ends with the test. */
export async function startFaultWorld(t: Test) {
  const directory = createTemporaryDirectory(t, 'faults')
  const { meiliMasterKey } = await servers()
  const redis = await startRedis({ directory: join(directory, 'redis') })
  if (!redis) throw new Error('Install redis-server.')
  t.teardown(() => redis.stop())
  const service = await testService(t)
  // Only the processes below are scraped and fold.
  await service.app.close()
  const { db, config } = service
  const proxies = {
    postgres: await startFaultyProxy(t, service.url),
    engine: await startFaultyProxy(t, config.MEILI_URL),
  }
  /** Starts an indexer and returns its port and process. */
  const startIndexer = async (env: Record<string, string> = {}) => {
    const port = await chooseFixedPort()
    const program = startProgram(t, ['scripts/indexer.ts'], {
      INDEXER_DATABASE_URL: service.roles.indexer,
      MEILI_URL: proxies.engine.url,
      MEILI_INDEXER_KEY: deriveIndexerKey(meiliMasterKey),
      SEARCH_INDEX: nameWithoutVersion(config.SEARCH_INDEX),
      INDEXER_OPS_PORT: String(port),
      ...env,
    })
    return { port, program }
  }
  const apiEnv = {
    DATABASE_URL: buildRoleUrl(proxies.postgres.url, 'api'),
    MEILI_URL: proxies.engine.url,
    SEARCH_INDEX: nameWithoutVersion(config.SEARCH_INDEX),
    SEARCH_ENGINE: 'main',
    REDIS_URL: redis.url,
    DATABASE_CONNECTIONS: '4',
    STATS_LIMIT_PER_MINUTE: '30',
    SEARCH_LIMIT_PER_SECOND: '100000',
    LINK_LIMIT_PER_MINUTE: '100000',
    SEARCH_CACHE_MB: '0',
    LOG_LEVEL: 'warn',
  }
  await sql`insert into products (sku, name) values ('AB-1', 'Martillo')`.execute(db)
  const links: string[] = []
  for (const number of ['P-1', 'P-2']) {
    await addQuote(db, number)
    links.push(await createQuoteLink(db, { number }))
  }
  const indexer = await startIndexer()
  const api = await startApi(t, service, apiEnv)
  const apiPort = Number(new URL(api.opsUrl).port)
  const prometheus = await startPrometheus(t)
  const targets: Targets = {
    'trade-quoting-service': [apiPort],
    'trade-quoting-service-indexer': [indexer.port],
  }
  prometheus.setTargets(targets)
  const readIndexerStatus = () =>
    fetch(`http://127.0.0.1:${indexer.port}/health/ready`).then(
      ({ status }) => status,
      () => 0,
    )
  const untilIndexed = () => eventually(readIndexerStatus, (status) => status === 200, patienceMs)
  await untilIndexed()
  return {
    ...{ directory, redis, service, db, config, proxies, startIndexer, apiEnv, links, indexer },
    ...{ api, apiPort, prometheus, targets, untilIndexed, meiliMasterKey },
    keepCalling: (path: string, options: CallOptions = {}) => keepCalling(api.url, path, options),
    causes: createCauses(prometheus),
  }
}

type CallOptions = { atOnce?: number; pauseMs?: number }

/** Repeats a request of a caller until it is stopped. `{n}` in the path is a number that rises. */
function keepCalling(
  url: string,
  path: string,
  { atOnce = 1, pauseMs = 20 }: CallOptions,
): () => Promise<unknown> {
  let isStopped = false
  let count = 0
  const call = async () => {
    while (!isStopped) {
      await fetch(url + path.replace('{n}', String(count++)), {
        signal: AbortSignal.timeout(5_000),
      })
        .then((response) => response.arrayBuffer())
        .catch(() => undefined)
      await sleep(pauseMs)
    }
  }
  const calls = Array.from({ length: atOnce }, call)
  return () => {
    isStopped = true
    return Promise.all(calls)
  }
}

/**
 * Returns a function that asserts that none of the alerts fires, causes the fault, asserts that all
 * of them fire, and mends the fault.
 */
function createCauses(prometheus: Prometheus) {
  return async (
    t: Test,
    fault: () => Promise<(() => unknown) | undefined>,
    names: string[],
  ): Promise<void> => {
    const before = await eventually(
      prometheus.listFiring,
      (firing) => names.every((name) => !firing.includes(name)),
      patienceMs,
    )
    t.same(
      before.filter((name) => names.includes(name)),
      [],
      `${names} do not fire before`,
    )
    const mend = await fault()
    t.same(await prometheus.waitFor(names), [], `${names} fire`)
    await mend?.()
  }
}
