// What is left of the service at several times its capacity: how much it still answers, how fast, and what refusing costs.
import { spawn } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { runCommand } from '../command.ts'
import { choosePort } from '../sidecars/port.ts'
import { type ApiProcess, startApi } from './api-process.ts'
import { crossedCatalogue } from './catalogues.ts'
import { processorMicroseconds } from './processor.ts'
import { benchServers, benchService } from './service.ts'

/** It comes without types. */
const autocannon = createRequire(import.meta.url)('autocannon') as (
  options: Record<string, unknown>,
  done: (error: Error | null) => void,
) => EventEmitter

const help = `
Usage: node scripts/bench/overload.ts [--times N] [--seconds N] [--products N] [--connections N] [--answers engine|memory]

Measures the capacity of /api/search (16 connections, each sends when it is answered), then sends N times as many requests a second as that,
whether they are answered or not; then the capacity while a naked server refuses as much on the same machine, which the load itself costs; then
the capacity again. Prints, as shares of the capacity in the same run: what is answered, and how fast, what is refused with 503, and what becomes
of quote links and health meanwhile.

  --times N        so many times the capacity (5)
  --seconds N      of each (10)
  --connections N  of the overload (400)
  --products N     size of the catalogue (10000)
  --answers        engine: every search goes to the engine (the default). memory: every one is remembered, where refusing costs as much as answering
`

const options = {
  times: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '10' },
  connections: { type: 'string', default: '400' },
  products: { type: 'string', default: '10000' },
  answers: { type: 'string', default: 'engine' },
} as const

type Figures = { answered: number; refused: number; other: number; p50: number; p95: number; refusedP95: number; cpu: number }

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const service = await benchService(servers, 'overload', products)
    const api = await startApi(service, { SEARCH_MEMORY_MB: values.answers === 'memory' ? '32' : '0' })
    const texts = products.slice(0, values.answers === 'memory' ? 10 : 150).map(({ name }) => name.slice(0, 12))
    const paths = texts.map((text) => `/api/search?q=${encodeURIComponent(text)}`)
    const seconds = Number(values.seconds)
    const load = (connections: number, rate?: number) => send(api, paths, service.authorization, { connections, seconds, rate })
    try {
      await load(16)
      const before = await load(16)
      const probes = probe(api)
      const over = await load(Number(values.connections), Math.round(before.answered * Number(values.times)))
      const probed = await probes.stop()
      const burdened = await control()
      report(before, over, burdened, await load(16), probed)

      /** The capacity while as much is refused by a server that does nothing else: what sending and refusing cost the machine at the very least. */
      async function control(): Promise<Figures> {
        const naked = await startNaked()
        const rate = Math.max(1, Math.round(over.refused))
        const refusing = send(naked, paths, '', { connections: Number(values.connections) - 16, seconds, rate })
        const answering = await load(16)
        await refusing
        naked.stop()
        return answering
      }
    } finally {
      await api.stop()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

type Load = { connections: number; seconds: number; rate: number | undefined }

async function send(
  api: Pick<ApiProcess, 'url' | 'pid'>,
  paths: string[],
  authorization: string,
  { connections, seconds, rate }: Load,
): Promise<Figures> {
  const latencies: number[] = []
  const refusals: number[] = []
  let other = 0
  const cpuBefore = processorMicroseconds(api.pid)
  const startedAt = performance.now()
  await new Promise<void>((resolve, reject) => {
    const instance = autocannon(
      {
        url: api.url,
        connections,
        duration: seconds,
        ...(rate !== undefined && { overallRate: rate }),
        headers: { authorization },
        requests: paths.map((path) => ({ path })),
      },
      (error) => (error ? reject(error) : resolve()),
    )
    instance.on('response', (_client: unknown, status: number, _bytes: number, milliseconds: number) => {
      if (status === 200) latencies.push(milliseconds)
      else if (status === 503) refusals.push(milliseconds)
      else other += 1
    })
  })
  const elapsed = (performance.now() - startedAt) / 1000
  const cpu = (processorMicroseconds(api.pid) - cpuBefore) / 1e6 / elapsed
  const perSecond = (count: number) => count / elapsed
  return {
    answered: perSecond(latencies.length),
    refused: perSecond(refusals.length),
    other: perSecond(other),
    p50: quantile(latencies, 0.5),
    p95: quantile(latencies, 0.95),
    refusedP95: quantile(refusals, 0.95),
    cpu,
  }
}

/** A server that refuses everything with the same bytes. */
async function startNaked(): Promise<{ url: string; pid: number; stop(): void }> {
  const port = await choosePort('the naked server')
  const code = `require('node:http').createServer((request, reply) => {
    reply.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '1' }).end('x'.repeat(300))
  }).listen(${port}, '127.0.0.1')`
  const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => null))) await new Promise((resolve) => setTimeout(resolve, 50))
  return { url, pid: child.pid ?? 0, stop: () => void child.kill() }
}

/** Asks for a quote link and for health all the while. */
function probe(api: ApiProcess): { stop(): Promise<string> } {
  const ends = { link: `${api.url}/quote/share/none`, live: `${api.operationsUrl}/health/live` }
  const seen = new Map<string, { statuses: Map<number, number>; latencies: number[] }>()
  let stopped = false
  const running = Object.entries(ends).map(async ([name, url]) => {
    const [statuses, latencies]: [Map<number, number>, number[]] = [new Map(), []]
    seen.set(name, { statuses, latencies })
    while (!stopped) {
      const askedAt = performance.now()
      const status = await fetch(url, { headers: { accept: 'application/json' } }).then(
        (answer) => answer.status,
        () => 0,
      )
      latencies.push(performance.now() - askedAt)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
  return {
    async stop() {
      stopped = true
      await Promise.all(running)
      return [...seen]
        .map(([name, { statuses, latencies }]) => {
          const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
          return `${name.padEnd(6)} ${counts}; p50 ${quantile(latencies, 0.5).toFixed(0)} ms, p95 ${quantile(latencies, 0.95).toFixed(0)} ms`
        })
        .join('\n')
    },
  }
}

function report(before: Figures, over: Figures, burdened: Figures, after: Figures, probed: string): void {
  const line = (name: string, { answered, refused, other, p50, p95, refusedP95, cpu }: Figures) =>
    console.log(
      name.padEnd(10) +
        [answered, refused, other].map((value) => value.toFixed(0).padStart(10)).join('') +
        [p50, p95, refusedP95].map((value) => value.toFixed(1).padStart(10)).join('') +
        cpu.toFixed(2).padStart(8),
    )
  console.log('            answered   refused     other    p50 ms    p95 ms   refused   cores')
  line('before', before)
  line('overload', over)
  line('burdened', burdened)
  line('after', after)
  const capacity = (before.answered + after.answered) / 2
  console.log(
    `answered ${(over.answered / capacity).toFixed(2)} of the capacity at ${((over.answered + over.refused + over.other) / capacity).toFixed(1)} times its load`,
  )
  console.log(
    `and ${(over.answered / burdened.answered).toFixed(2)} of what it answers while a naked server refuses as much on the same machine`,
  )
  console.log(`p50 ${(over.p50 / before.p50).toFixed(1)} times, p95 ${(over.p95 / before.p95).toFixed(1)} times that at capacity`)
  console.log(probed)
}

function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}
