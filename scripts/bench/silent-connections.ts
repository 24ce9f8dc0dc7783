// Measures how long searches miss the engine after the network has silently forgotten its idle
// connections.
import { setTimeout as sleep } from 'node:timers/promises'
import { FaultyProxy } from '../../test/support/servers/faulty-proxy.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { startApi } from './support/processes/api-process.ts'

const help = `
Usage: node scripts/bench/silent-connections.ts [--connections N] [--rounds N]

Starts the API behind a proxy to the search engine, opens idle connections, and makes the
proxy forget them: it forwards nothing on them, keeps them open, and accepts new ones. As many
callers search meanwhile. Prints the time until the last search that the engine did not
answer, and the number of those searches.

  --connections N  idle connections, and callers. Default: 24
  --rounds N       how often everything is measured. Default: 10
`

const options = {
  connections: { type: 'string', default: '24' },
  rounds: { type: 'string', default: '10' },
} as const

const productCount = 2_000
const warmUpDelayMs = 100
const observedMs = 3_000
const pauseBetweenSearchesMs = 50

await runCommand(help, options, async ({ connections, rounds }) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(productCount)
    const service = await benchService(servers, 'silent', products)
    const proxy = new FaultyProxy(service.meiliUrl)
    await proxy.listen()
    const api = await startApi(service, { MEILI_URL: proxy.url, SEARCH_CACHE_MB: '0' })
    const search = async () => {
      const name = products[Math.floor(Math.random() * products.length)]?.name ?? ''
      const response = await fetch(`${api.url}/api/search?q=${encodeURIComponent(name)}`, {
        headers: { authorization: service.authorization },
      })
      const { meta } = (await response.json()) as { meta?: { source: string } }
      return meta?.source === 'index'
    }
    const callers = Array.from({ length: Number(connections) })
    try {
      for (let round = 1; round <= Number(rounds); round++) {
        proxy.delayMs = warmUpDelayMs
        for (let attempt = 0; proxy.countConnections() < callers.length && attempt < 20; attempt++)
          await Promise.all(callers.map(search))
        proxy.delayMs = 0
        const idle = proxy.countConnections()
        proxy.forgetConnections()
        const forgottenAt = performance.now()
        let [missed, lastMissedAt, searches] = [0, forgottenAt, 0]
        await Promise.all(
          callers.map(async () => {
            while (performance.now() - forgottenAt < observedMs) {
              const wasAnsweredByEngine = await search()
              searches++
              if (!wasAnsweredByEngine) {
                missed++
                lastMissedAt = performance.now()
              }
              await sleep(pauseBetweenSearchesMs)
            }
          }),
        )
        console.log(
          `${idle} idle connections forgotten: all searches answered by the engine again after ` +
            `${Math.round(lastMissedAt - forgottenAt)} ms, ${missed} of ${searches} were not`,
        )
      }
    } finally {
      await api.stop()
      proxy.close()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})
