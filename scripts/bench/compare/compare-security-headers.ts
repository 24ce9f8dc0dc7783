// Compares our security headers with @fastify/helmet: processor time per request.
import helmet from '@fastify/helmet'
// @ts-expect-error: the package has no types.
import autocannon from 'autocannon'
import Fastify, { type FastifyInstance } from 'fastify'
import { addCommonHeaders } from '../../../src/http/common-headers.ts'
import { runCommand } from '../../cli/command.ts'
import { median } from '../support/load/quantile.ts'

const help = `
Usage: node scripts/bench/compare/compare-security-headers.ts [--rounds N] [--seconds N]

Measures a Fastify route that returns a small JSON object: with our headers, with @fastify/helmet,
and without either. The variants take turns in each round. Prints the medians of requests per second
and of processor time per request (service and client together), and the ratios.

  --rounds N   rounds (4)
  --seconds N  seconds for each variant in each round (2)
`

type Variant = 'none' | 'ours' | 'helmet'
type Measurement = { requestsPerSecond: number; cpuMicroseconds: number }

const variants: Variant[] = ['none', 'ours', 'helmet']
const connections = 16

await runCommand(
  help,
  { rounds: { type: 'string', default: '4' }, seconds: { type: 'string', default: '2' } },
  async ({ rounds, seconds }) => {
    const measurements: Record<Variant, Measurement[]> = { none: [], ours: [], helmet: [] }
    for (let round = 0; round < Number(rounds); round += 1)
      for (const variant of variants)
        measurements[variant].push(await measure(variant, Number(seconds)))
    report(measurements)
    return 0
  },
)

async function measure(variant: Variant, seconds: number): Promise<Measurement> {
  const app = await buildVariant(variant)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  try {
    const cpuBefore = process.cpuUsage()
    const { requests } = await autocannon({ url, connections, duration: seconds })
    const { user, system } = process.cpuUsage(cpuBefore)
    return {
      requestsPerSecond: requests.total / seconds,
      cpuMicroseconds: (user + system) / requests.total,
    }
  } finally {
    await app.close()
  }
}

async function buildVariant(variant: Variant): Promise<FastifyInstance> {
  const app = Fastify()
  if (variant === 'ours') addCommonHeaders(app)
  if (variant === 'helmet')
    await app.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
    })
  app.get('/', async () => ({ status: 'ok' }))
  return app
}

function report(measurements: Record<Variant, Measurement[]>): void {
  const medians = (key: keyof Measurement) =>
    Object.fromEntries(
      variants.map((variant) => [variant, median(measurements[variant].map((one) => one[key]))]),
    ) as Record<Variant, number>
  const throughput = medians('requestsPerSecond')
  const cpu = medians('cpuMicroseconds')
  for (const variant of variants) {
    const rate = `${throughput[variant].toFixed(0)} requests/s`
    console.log(`${variant.padEnd(7)} ${rate}, ${cpu[variant].toFixed(1)} µs`)
  }
  console.log(`helmet/ours: throughput ${(throughput.helmet / throughput.ours).toFixed(2)}`)
  const added = (variant: Variant) => `${variant} ${(cpu[variant] - cpu.none).toFixed(1)} µs`
  console.log(`added processor time per request: ${added('ours')}, ${added('helmet')}`)
}
