// Measures the processor time of a request without traces, with traces, and of another checkout.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runCommand } from '../../cli/command.ts'
import { benchServers, benchService } from '../support/bench-service.ts'
import { crossedCatalogue } from '../support/data/catalogues.ts'
import { median } from '../support/load/quantile.ts'
import { type ApiProcess, startApi } from '../support/processes/api-process.ts'
import { processorMicroseconds } from '../support/processes/cpu-time.ts'

const help = `
Usage: node scripts/bench/compare/compare-tracing.ts [--rounds N] [--requests N] [--checkout DIR]

Starts API processes on the same servers: without traces, with traces of all requests, and with
traces of one in a hundred. They take turns. Prints the median processor time of a request to the
API: of a cached search, of a search in the engine, and of cached statistics. The log is on.

  --rounds N      rounds. Default: 7
  --requests N    requests of each kind in each round. Default: 2000
  --checkout DIR  also measures the API of another checkout, to compare with
`

const options = {
  rounds: { type: 'string', default: '7' },
  requests: { type: 'string', default: '2000' },
  checkout: { type: 'string' },
} as const

const atOnce = 2

/** A name, the settings, and the directory of the code if it is not this one. */
type Variant = [string, Record<string, string>, string?]

const paths: Record<string, (n: number) => string> = {
  'cached search': () => '/api/search?q=tornillos',
  'search in the engine': (n) => `/api/search?q=tornillos+${n % 997}&limit=5`,
  'cached statistics': () => '/api/stats',
}

await runCommand(help, options, async ({ rounds, requests, checkout }) => {
  const servers = await benchServers()
  const apis: { name: string; api: ApiProcess; times: Map<string, number[]> }[] = []
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
  try {
    const service = await benchService(servers, 'tracing', await crossedCatalogue(5_000))
    const base = { LOG_LEVEL: 'info', SHED_DELAY_MS: '0', SEARCH_CACHE_MB: '1' }
    const variants: Variant[] = [
      ['without traces', {}],
      ['one in a hundred', { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '0.01' }],
      ['all requests', endpoint],
    ]
    if (checkout !== undefined) variants.push(['other checkout', {}, checkout])
    for (const [name, env, directory] of variants)
      apis.push({
        name,
        api: await startApi(service, { ...base, ...env }, directory),
        times: new Map(Object.keys(paths).map((kind) => [kind, []])),
      })
    for (let round = -1; round < Number(rounds); round += 1)
      for (const { api, times } of apis)
        for (const [kind, pathOf] of Object.entries(paths)) {
          const time = await measure(api, pathOf, service.authorization, Number(requests))
          // The first round warms up.
          if (round >= 0) times.get(kind)?.push(time)
        }
    for (const { name, times } of apis)
      for (const [kind, measured] of times)
        console.log(`${name.padEnd(18)} ${kind.padEnd(22)} ${median(measured).toFixed(0)} µs`)
    await service.close()
  } finally {
    for (const { api } of apis) await api.stop()
    collector.closeAllConnections()
    collector.close()
    await servers.stop()
  }
  return 0
})

/** Returns the processor time of the API for one request. */
async function measure(
  { url, pid }: ApiProcess,
  pathOf: (n: number) => string,
  authorization: string,
  requests: number,
): Promise<number> {
  let next = 0
  const before = processorMicroseconds(pid)
  const send = async () => {
    while (next < requests) {
      next += 1
      const response = await fetch(url + pathOf(next), { headers: { authorization } })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`Status ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  return (processorMicroseconds(pid) - before) / requests
}
