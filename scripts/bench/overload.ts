// Measures the API at several times its capacity: how much it still answers, how fast, and what a
// rejected request costs.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue, type Product } from './support/data/catalogues.ts'
import { startLoad } from './support/load/constant-rate-load.ts'
import { type Sampler, sample } from './support/load/latency-sampler.ts'
import { hasWrk } from './support/load/maximum-load.ts'
import { quantile } from './support/load/quantile.ts'
import { type ApiProcess, startApi } from './support/processes/api-process.ts'
import { startBenchProcess } from './support/processes/bench-process.ts'
import { canPinToCores, cores, pinToCores } from './support/processes/cpu-affinity.ts'
import { processorMicroseconds } from './support/processes/cpu-time.ts'

const help = `
Usage: node scripts/bench/overload.ts [--times N] [--rounds N] [--seconds N] [--products N]
                                      [--connections N] [--answers engine|memory]

Measures three things in each round:

  capacity       /api/search with 16 connections, each sending when its response has arrived
  overload       N times as many requests a second as that, whether they are answered or not
  with baseline  the capacity while a baseline server on the same machine rejects as many
                 requests: what such a load costs, whoever rejects it

Prints how much is answered, as a share of the capacity in the same round, how fast, and what
becomes of quote links and health checks meanwhile. The service counts answered and rejected
requests. The times are those of a client that sends 50 requests a second all the time.
Needs wrk.

  --times N        overload, as a multiple of the capacity. Default: 5
  --rounds N       how often everything is measured. Default: 3
  --seconds N      duration of each measurement. Default: 5
  --connections N  connections of the overload. Default: 400
  --products N     size of the catalogue. Default: 10000
  --answers        engine (default): every search asks the engine. memory: every response is
                   cached, so that rejecting costs half as much as answering
`

const options = {
  times: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '5' },
  connections: { type: 'string', default: '400' },
  products: { type: 'string', default: '10000' },
  answers: { type: 'string', default: 'engine' },
} as const

type Measurement = {
  /** Requests a second. */
  answered: number
  rejected: number
  other: number
  /** Milliseconds. */
  p50: number
  p95: number
  rejectedP95: number
  /** Processor time as a multiple of elapsed time. */
  cores: number
}
type Round = {
  capacity: Measurement
  overload: Measurement
  'with baseline': Measurement
  again: Measurement
}

const capacityConnections = 16
/** Before each measurement, until connections are open and the process is warm. */
const warmUpMs = 1_500

await runCommand(help, options, async (values) => {
  if (!(await hasWrk()))
    throw new Error(
      'This needs wrk (Debian: apt-get install wrk). Other clients cost more than the service ' +
        'and would be the bottleneck.',
    )
  const isPinned = canPinToCores()
  if (isPinned) pinToCores(cores.service)
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const service = await benchService(servers, 'overload', products)
    const isCached = values.answers === 'memory'
    const api = await startApi(service, { SEARCH_CACHE_MB: isCached ? '32' : '0' })
    const baseline = await startBaselineServer()
    if (isPinned) pinToCores(cores.load)
    const { authorization } = service
    const paths = searchPaths(products, isCached ? 10 : 150)
    const pathsFile = join(service.directory, 'paths')
    await writeFile(pathsFile, paths.join('\n'))
    const bench: BenchOptions = {
      api,
      baseline,
      authorization,
      paths,
      pathsFile,
      measuredSeconds: Number(values.seconds),
      overloadConnections: Number(values.connections),
      baselineMicroseconds: [],
    }
    try {
      // Once without load and once with it, to warm up.
      await measure(api, sample(api.url, paths, authorization), 1)
      await measureUnderLoad(bench, capacityConnections)
      const rounds: Round[] = []
      const probes = startProbes(api)
      for (let round = 0; round < Number(values.rounds); round += 1)
        rounds.push(await measureRound(bench, Number(values.times)))
      report(rounds)
      const rejectionCost = quantile(bench.baselineMicroseconds, 0.5).toFixed(0)
      console.log(`the same for the baseline server, about: ${rejectionCost}`)
      console.log(await probes.stop())
    } finally {
      await baseline.stop()
      await api.stop()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

function searchPaths(products: Product[], count: number): string[] {
  const texts = products.slice(0, count).map(({ name }) => name.slice(0, 12))
  return texts.map((text) => `/api/search?q=${encodeURIComponent(text)}`)
}

type BaselineServer = { url: string; pid: number; stop(): Promise<void> }
type BenchOptions = {
  api: ApiProcess
  baseline: BaselineServer
  authorization: string
  paths: string[]
  /** A file with the paths, for wrk. */
  pathsFile: string
  measuredSeconds: number
  overloadConnections: number
  /** The processor time of a rejection by the baseline server is added here in each round. */
  baselineMicroseconds: number[]
}

/** Measures the capacity before and after an overload of `times` the capacity. */
async function measureRound(options: BenchOptions, times: number): Promise<Round> {
  const capacity = await measureUnderLoad(options, capacityConnections)
  const overload = await measureUnderLoad(
    options,
    options.overloadConnections,
    capacity.answered * times,
  )
  const withBaseline = await measureWithBaseline(options, Math.max(1, overload.rejected))
  const again = await measureUnderLoad(options, capacityConnections)
  return { capacity, overload, 'with baseline': withBaseline, again }
}

/** Measures under load: `rate` requests a second, or as many as are answered. */
async function measureUnderLoad(
  { api, paths, pathsFile, authorization, measuredSeconds }: BenchOptions,
  connections: number,
  rate?: number,
): Promise<Measurement> {
  const load = startLoad({
    url: api.url,
    pathsFile,
    authorization,
    connections,
    ...(rate !== undefined && { rate }),
  })
  try {
    return await measure(api, sample(api.url, paths, authorization), measuredSeconds)
  } finally {
    await load.stop()
  }
}

/** Measures the capacity while the baseline server rejects requests at this rate. */
async function measureWithBaseline(options: BenchOptions, rate: number): Promise<Measurement> {
  const { baseline, baselineMicroseconds, pathsFile, overloadConnections } = options
  const cpuBefore = processorMicroseconds(baseline.pid)
  const startedAt = performance.now()
  const rejectedLoad = startLoad({
    url: baseline.url,
    pathsFile,
    authorization: '',
    connections: overloadConnections,
    rate,
  })
  try {
    return await measureUnderLoad(options, capacityConnections)
  } finally {
    const seconds = (performance.now() - startedAt) / 1_000
    const cpu = processorMicroseconds(baseline.pid) - cpuBefore
    baselineMicroseconds.push(cpu / seconds / rate)
    await rejectedLoad.stop()
  }
}

/** Counts the answers of the service and samples response times for `seconds` after a warm-up. */
async function measure(api: ApiProcess, sampler: Sampler, seconds: number): Promise<Measurement> {
  await sleep(warmUpMs)
  sampler.reset()
  const before = await countAnswers(api)
  const cpuBefore = processorMicroseconds(api.pid)
  const startedAt = performance.now()
  await sleep(seconds * 1_000)
  const elapsed = (performance.now() - startedAt) / 1_000
  const cpu = processorMicroseconds(api.pid) - cpuBefore
  const after = await countAnswers(api)
  const samples = await sampler.stop()
  const perSecond = (status: string) =>
    ((after.get(status) ?? 0) - (before.get(status) ?? 0)) / elapsed
  const times = (status: number) =>
    samples.filter((sample) => sample.status === status).map(({ ms }) => ms)
  const otherStatuses = [...after.keys()].filter((status) => status !== '200' && status !== '503')
  return {
    answered: perSecond('200'),
    rejected: perSecond('503'),
    other: otherStatuses.reduce((sum, status) => sum + perSecond(status), 0),
    p50: quantile(times(200), 0.5),
    p95: quantile(times(200), 0.95),
    rejectedP95: quantile(times(503), 0.95),
    cores: cpu / 1e6 / elapsed,
  }
}

/** Returns the number of searches so far by status, from the metrics of the service. */
async function countAnswers({ operationsUrl }: ApiProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  const lines = text.matchAll(
    /^tqs_requests_total\{route="\/api\/search",status="(\d+)"\} (\d+)$/gm,
  )
  return new Map([...lines].map(([, status = '', count]) => [status, Number(count)]))
}

/** Starts a Node server that rejects every request with the same bytes. */
async function startBaselineServer(): Promise<BaselineServer> {
  const port = await choosePort('the baseline server')
  const code = `require('node:http').createServer((request, reply) => {
    const headers = { 'content-type': 'application/problem+json', 'retry-after': '1' }
    reply.writeHead(503, headers).end('x'.repeat(300))
  }).listen(${port}, '127.0.0.1')`
  const server = startBenchProcess(['-e', code])
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => null))) await sleep(50)
  return { url, pid: server.pid, stop: server.stop }
}

/** Requests a quote link and the health check five times a second until it is stopped. */
function startProbes(api: ApiProcess): { stop(): Promise<string> } {
  const urls = { link: `${api.url}/quote/share/none`, live: `${api.operationsUrl}/health/live` }
  const samplers = Object.entries(urls).map(([name, url]) => ({
    name,
    sampler: sample(url, [''], '', 5),
  }))
  return {
    async stop() {
      const lines = samplers.map(async ({ name, sampler }) => {
        const samples = await sampler.stop()
        const statuses = new Map<number, number>()
        for (const { status } of samples) statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
        const times = samples.map(({ ms }) => ms)
        const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)]
        return `${name.padEnd(6)} ${counts}; p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`
      })
      return (await Promise.all(lines)).join('\n')
    },
  }
}

function report(rounds: Round[]): void {
  printMeasurements(rounds)
  const median = (of: (round: Round) => number) => {
    const values = rounds.map(of).toSorted((a, b) => a - b)
    const range = `${values[0]?.toFixed(2)} to ${values.at(-1)?.toFixed(2)}`
    return `${quantile(values, 0.5).toFixed(2)} (${range})`
  }
  const full = ({ capacity, again }: Round) => (capacity.answered + again.answered) / 2
  const sent = ({ overload }: Round) => overload.answered + overload.rejected + overload.other
  console.log(
    `at ${median((round) => sent(round) / full(round))} times the capacity, ` +
      `medians of ${rounds.length} rounds:`,
  )
  console.log(
    'answered, as a share of the capacity: ' +
      median((round) => round.overload.answered / full(round)),
  )
  console.log(
    'answered, as a share of the capacity with the baseline server: ' +
      median((round) => round.overload.answered / round['with baseline'].answered),
  )
  console.log(
    `p50, as a multiple of that at capacity: ` +
      `${median((round) => round.overload.p50 / round.capacity.p50)}; ` +
      `p95: ${median((round) => round.overload.p95 / round.capacity.p95)}`,
  )
  console.log(`processor time of a rejected request, µs, at most: ${median(rejectionMicroseconds)}`)
}

/** Prints a table with one line for each measurement of each round. */
function printMeasurements(rounds: Round[]): void {
  console.log(
    '                  answered  rejected     other    p50 ms    p95 ms  rejected   cores',
  )
  for (const [name, measurement] of rounds.flatMap((round) => Object.entries(round))) {
    const { answered, rejected, other, p50, p95, rejectedP95, cores } = measurement
    const counts = [answered, rejected, other].map((value) => value.toFixed(0).padStart(10))
    const times = [p50, p95, rejectedP95].map((value) =>
      (Number.isNaN(value) ? '' : value.toFixed(1)).padStart(10),
    )
    console.log(name.padEnd(16) + [...counts, ...times].join('') + cores.toFixed(2).padStart(8))
  }
}

/** The processor time that answered requests do not explain, by rejected request. */
function rejectionMicroseconds({ overload, capacity }: Round): number {
  const answering = capacity.cores * (overload.answered / capacity.answered)
  return ((overload.cores - answering) / overload.rejected) * 1e6
}
