// What is left of the service at several times its capacity: how much it still answers, how fast, and what refusing costs.
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { type ApiProcess, startApi } from './support/api-process.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/catalogues.ts'
import { flood } from './support/constant-rate-load.ts'
import { canKeepApart, cores, moveTo } from './support/cpu-affinity.ts'
import { processorMicroseconds } from './support/cpu-time.ts'
import { type Sampler, sample } from './support/latency-sampler.ts'
import { hasWrk } from './support/maximum-load.ts'

const help = `
Usage: node scripts/bench/overload.ts [--times N] [--rounds N] [--seconds N] [--products N] [--connections N] [--answers engine|memory]

Measures the capacity of /api/search (16 connections, each sends when it is answered), then sends N times as many requests a second as that,
whether they are answered or not; then the capacity while a naked server refuses as much on the same machine, which is what such a load costs
whoever refuses it. Prints, as shares of the capacity in the same round, what is answered, and how fast; and what becomes of quote links and health
meanwhile. What is answered and refused is counted by the service, times are those of a client that asks 50 times a second all through. Needs wrk.

  --times N        so many times the capacity (5)
  --rounds N       of all of it (3)
  --seconds N      of each part (5)
  --connections N  of the overload (400)
  --products N     size of the catalogue (10000)
  --answers        engine: every search goes to the engine (the default). memory: every one is remembered, where refusing costs half as much as
                   answering
`

const options = {
  times: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '5' },
  connections: { type: 'string', default: '400' },
  products: { type: 'string', default: '10000' },
  answers: { type: 'string', default: 'engine' },
} as const

type Figures = {
  answered: number
  refused: number
  other: number
  p50: number
  p95: number
  refusedP95: number
  cores: number
}
type Round = { capacity: Figures; overload: Figures; burdened: Figures; again: Figures }

const capacityConnections = 16
/** Connections are made and the process warms up. */
const settleMs = 1_500

await runCommand(help, options, async (values) => {
  if (!(await hasWrk()))
    throw new Error(
      'This needs wrk: a client that costs more than the service would be what is measured (Debian: apt-get install wrk).',
    )
  const apart = canKeepApart()
  if (apart) moveTo(cores.service)
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const service = await benchService(servers, 'overload', products)
    const remembers = values.answers === 'memory'
    const api = await startApi(service, { SEARCH_CACHE_MB: remembers ? '32' : '0' })
    const naked = await startNaked()
    if (apart) moveTo(cores.load)
    const texts = products.slice(0, remembers ? 10 : 150).map(({ name }) => name.slice(0, 12))
    const paths = texts.map((text) => `/api/search?q=${encodeURIComponent(text)}`)
    const pathsFile = join(service.directory, 'paths')
    await writeFile(pathsFile, paths.join('\n'))
    const { authorization } = service
    const seconds = Number(values.seconds)

    /** While requests come, by so many connections, at a rate or as they are answered. */
    const under = async (connections: number, rate?: number): Promise<Figures> => {
      const load = flood({
        url: api.url,
        pathsFile,
        authorization,
        connections,
        ...(rate !== undefined && { rate }),
      })
      try {
        return await measure(api, sample(api.url, paths, authorization), seconds)
      } finally {
        await load.stop()
      }
    }
    const nakedMicroseconds: number[] = []
    /** The capacity while a server that does nothing else refuses at this rate. */
    const burdened = async (rate: number): Promise<Figures> => {
      const cpuBefore = processorMicroseconds(naked.pid)
      const startedAt = performance.now()
      const refusing = flood({
        url: naked.url,
        pathsFile,
        authorization: '',
        connections: Number(values.connections),
        rate,
      })
      try {
        return await under(capacityConnections)
      } finally {
        const seconds = (performance.now() - startedAt) / 1_000
        nakedMicroseconds.push((processorMicroseconds(naked.pid) - cpuBefore) / seconds / rate)
        await refusing.stop()
      }
    }

    try {
      // A moment of calm, as after any start, and one to warm up.
      await measure(api, sample(api.url, paths, authorization), 1)
      await under(capacityConnections)
      const rounds: Round[] = []
      const probes = probe(api)
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const capacity = await under(capacityConnections)
        const overload = await under(
          Number(values.connections),
          capacity.answered * Number(values.times),
        )
        const bare = await burdened(Math.max(1, overload.refused))
        rounds.push({ capacity, overload, burdened: bare, again: await under(capacityConnections) })
      }
      report(rounds)
      console.log(
        `and of one by the naked server, about: ${quantile(nakedMicroseconds, 0.5).toFixed(0)}`,
      )
      console.log(await probes.stop())
    } finally {
      naked.stop()
      await api.stop()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

async function measure(api: ApiProcess, sampler: Sampler, seconds: number): Promise<Figures> {
  await sleep(settleMs)
  sampler.forget()
  const [before, cpuBefore, startedAt] = [
    await countAnswers(api),
    processorMicroseconds(api.pid),
    performance.now(),
  ]
  await sleep(seconds * 1_000)
  const elapsed = (performance.now() - startedAt) / 1_000
  const cpu = processorMicroseconds(api.pid) - cpuBefore
  const after = await countAnswers(api)
  const samples = await sampler.stop()
  const perSecond = (status: string) =>
    ((after.get(status) ?? 0) - (before.get(status) ?? 0)) / elapsed
  const times = (status: number) =>
    samples.filter((one) => one.status === status).map(({ ms }) => ms)
  return {
    answered: perSecond('200'),
    refused: perSecond('503'),
    other: [...after.keys()]
      .filter((status) => status !== '200' && status !== '503')
      .reduce((sum, status) => sum + perSecond(status), 0),
    p50: quantile(times(200), 0.5),
    p95: quantile(times(200), 0.95),
    refusedP95: quantile(times(503), 0.95),
    cores: cpu / 1e6 / elapsed,
  }
}

/** Searches answered so far, by status, as the service counts them. */
async function countAnswers({ operationsUrl }: ApiProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  const lines = text.matchAll(
    /^tqs_requests_total\{route="\/api\/search",status="(\d+)"\} (\d+)$/gm,
  )
  return new Map([...lines].map(([, status = '', count]) => [status, Number(count)]))
}

/** A server that refuses everything with the same bytes. */
async function startNaked(): Promise<{ url: string; pid: number; stop(): void }> {
  const port = await choosePort('the naked server')
  const code = `require('node:http').createServer((request, reply) => {
    reply.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '1' }).end('x'.repeat(300))
  }).listen(${port}, '127.0.0.1')`
  const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => null))) await sleep(50)
  return { url, pid: child.pid ?? 0, stop: () => void child.kill() }
}

/** Asks for a quote link and for health all the while. */
function probe(api: ApiProcess): { stop(): Promise<string> } {
  const ends = { link: `${api.url}/quote/share/none`, live: `${api.operationsUrl}/health/live` }
  const samplers = Object.entries(ends).map(([name, url]) => ({
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
        return `${name.padEnd(6)} ${counts}; p50 ${quantile(times, 0.5).toFixed(0)} ms, p95 ${quantile(times, 0.95).toFixed(0)} ms`
      })
      return (await Promise.all(lines)).join('\n')
    },
  }
}

function report(rounds: Round[]): void {
  console.log('            answered   refused     other    p50 ms    p95 ms   refused   cores')
  for (const round of rounds) {
    for (const [name, { answered, refused, other, p50, p95, refusedP95, cores }] of Object.entries(
      round,
    )) {
      const counts = [answered, refused, other].map((value) => value.toFixed(0).padStart(10))
      const times = [p50, p95, refusedP95].map((value) =>
        (Number.isNaN(value) ? '' : value.toFixed(1)).padStart(10),
      )
      console.log(name.padEnd(10) + [...counts, ...times].join('') + cores.toFixed(2).padStart(8))
    }
  }
  const median = (of: (round: Round) => number) => {
    const values = rounds.map(of).toSorted((a, b) => a - b)
    return `${quantile(values, 0.5).toFixed(2)} (${values[0]?.toFixed(2)} to ${values.at(-1)?.toFixed(2)})`
  }
  const full = ({ capacity, again }: Round) => (capacity.answered + again.answered) / 2
  const sent = ({ overload }: Round) => overload.answered + overload.refused + overload.other
  console.log(
    `at ${median((round) => sent(round) / full(round))} times the capacity, medians of ${rounds.length} rounds:`,
  )
  console.log(
    `answered, share of the capacity: ${median((round) => round.overload.answered / full(round))}`,
  )
  console.log(
    `answered, share of the capacity while a naked server refuses as much: ${median((round) => round.overload.answered / round.burdened.answered)}`,
  )
  console.log(
    `p50, times that at capacity: ${median((round) => round.overload.p50 / round.capacity.p50)}; p95: ${median((round) => round.overload.p95 / round.capacity.p95)}`,
  )
  console.log(
    `processor time of a refusal, µs, at most: ${median((round) => ((round.overload.cores - round.capacity.cores * (round.overload.answered / round.capacity.answered)) / round.overload.refused) * 1e6)}`,
  )
}

function quantile(values: number[], share: number): number {
  return (
    values.toSorted((a, b) => a - b)[
      Math.min(values.length - 1, Math.floor(values.length * share))
    ] ?? Number.NaN
  )
}
