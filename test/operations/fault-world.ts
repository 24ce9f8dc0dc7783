// A running service with Prometheus, on which real faults are caused: two API processes, indexers,
// and a proxy in front of each server.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { eventually } from '../support/test-service.ts'

type Test = { teardown(fn: () => unknown): void }
type Targets = Record<'trade-quoting-service' | 'trade-quoting-service-indexer', number[]>

const rulesFile = join(import.meta.dirname, '../../deploy/alerts.yml')

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

/** Starts Prometheus, which scrapes and evaluates every second. It ends with the test. */
export async function startPrometheus(t: Test): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-prometheus-'))
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
  // JSON is YAML too.
  writeFileSync(
    join(directory, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [join(directory, 'alerts.yml')],
      scrape_configs: jobs,
    }),
  )
  const port = await choosePort('Prometheus')
  const process = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
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
