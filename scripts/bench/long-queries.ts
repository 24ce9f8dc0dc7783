// Measures what a few callers with long queries that find nothing cost a caller who types.
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue, type Product } from './support/data/catalogues.ts'
import { knownItems } from './support/data/known-items.ts'
import { type Random, seeded } from './support/data/seeded-random.ts'
import { keystrokes } from './support/load/keystroke-trace.ts'
import { quantile } from './support/load/quantile.ts'
import { startApi } from './support/processes/api-process.ts'

const help = `
Usage: node scripts/bench/long-queries.ts [--products N] [--callers N,N] [--seconds N]

One caller types product names, a keystroke every 50 ms, and every tenth time three words of two
products, which no product holds together. Beside it, others send queries of ten words without a
pause: in turns words that no product has, and words of ten products, half of them with a typo.
Nothing is cached. Prints the latencies for each number of such callers, and how many answers were
degraded.

  --products N   size of the catalogue. Default: 100000
  --callers N,N  numbers of callers with long queries, measured one after the other, without any
                 before and after them. Default: 2,4,8
  --seconds N    duration of each measurement. Default: 10
  --checkout DIR another checkout, whose API is measured instead
`

const options = {
  products: { type: 'string', default: '100000' },
  callers: { type: 'string', default: '2,4,8' },
  seconds: { type: 'string', default: '10' },
  checkout: { type: 'string' },
} as const

const pauseBetweenKeysMs = 50
const wordsOfLongQuery = 10
const keysBetweenMixed = 10
const mixedCount = 400
const warmUpMs = 2_000
const consonants = 'bcdfgjklmnprstvxz'
const vowels = 'aeiou'

type Answer = { ms: number; status: number; isDegraded: boolean; source: string }
type Search = (text: string) => Promise<Answer>

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'long', products)
    const api = await startApi(service, { SEARCH_CACHE_MB: '0' }, values.checkout)
    const agent = new Agent({ keepAlive: true })
    try {
      const search = searchWith(agent, api.url, service.authorization)
      const typed = keystrokes(products, 5_000)
      const mixed = mixedQueries(products)
      const numbers = values.callers.split(',').map(Number)
      for (const callers of [0, ...numbers, 0]) {
        const long = longQueries(products, callers)
        const durationMs = Number(values.seconds) * 1_000
        await measure(search, { typed, mixed, long, callers, durationMs })
      }
    } finally {
      agent.destroy()
      await api.stop()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** Returns a function that searches on connections of `agent`. */
function searchWith(agent: Agent, url: string, authorization: string): Search {
  return (text) => {
    const startedAt = performance.now()
    const target = `${url}/api/search?q=${encodeURIComponent(text)}`
    return new Promise((resolve, reject) => {
      request(target, { agent, headers: { authorization } }, (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          body += chunk
        })
        response.once('end', () => {
          const ms = performance.now() - startedAt
          const { meta } = JSON.parse(body) as { meta?: { degraded: boolean; source: string } }
          const isDegraded = meta?.degraded ?? true
          const source = meta?.source ?? 'none'
          resolve({ ms, status: response.statusCode ?? 0, isDegraded, source })
        })
      })
        .once('error', reject)
        .end()
    })
  }
}

/** Returns queries of two words of one product and one of another. */
function mixedQueries(products: Product[]): string[] {
  const items = knownItems(products, mixedCount)
  return items.map(({ queries }, index) => {
    const other = items[(index + 1) % items.length]?.queries.clean ?? ''
    return [...queries.clean.split(' ').slice(0, 2), ...other.split(' ').slice(0, 1)].join(' ')
  })
}

/** Returns an endless supply of different queries, the same ones for the same number of callers. */
function longQueries(products: Product[], seed: number): () => string {
  const random = seeded(`long/${seed}`)
  const words = [
    ...new Set(products.flatMap(({ name }) => name.toLowerCase().match(/\p{L}{4,}/gu) ?? [])),
  ]
  const pickWord = (place: number) => {
    const word = random.pick(words)
    return place % 2 === 0 ? word : withoutOneLetter(word, random)
  }
  let count = 0
  return () => {
    const next = count++ % 2 === 0 ? () => inventWord(random) : pickWord
    return Array.from({ length: wordsOfLongQuery }, (_, place) => next(place)).join(' ')
  }
}

function withoutOneLetter(word: string, random: Random): string {
  const place = 1 + random.below(word.length - 1)
  return word.slice(0, place) + word.slice(place + 1)
}

function inventWord(random: Random): string {
  const syllables = 3 + random.below(2)
  return Array.from(
    { length: syllables },
    () => random.pick([...consonants]) + random.pick([...vowels]),
  ).join('')
}

type Load = {
  typed: string[]
  mixed: string[]
  long: () => string
  callers: number
  durationMs: number
}

async function measure(
  search: Search,
  { typed, mixed, long, callers, durationMs }: Load,
): Promise<void> {
  let isRunning = true
  let isMeasuring = false
  const typedAnswers: Answer[] = []
  const mixedAnswers: Answer[] = []
  const longAnswers: Answer[] = []
  const searchAndRecord = async (text: string, answers: Answer[]) => {
    const wasMeasuring = isMeasuring
    const answer = await search(text)
    if (wasMeasuring) answers.push(answer)
  }
  const loops = Array.from({ length: callers }, async () => {
    while (isRunning) await searchAndRecord(long(), longAnswers)
  })
  const typing = (async () => {
    for (let key = 0; isRunning; key++) {
      const next = sleep(pauseBetweenKeysMs)
      if (key % keysBetweenMixed === 0)
        await searchAndRecord(mixed[(key / keysBetweenMixed) % mixed.length] ?? '', mixedAnswers)
      else await searchAndRecord(typed[key % typed.length] ?? '', typedAnswers)
      await next
    }
  })()
  await sleep(warmUpMs)
  isMeasuring = true
  await sleep(durationMs)
  isMeasuring = false
  isRunning = false
  await Promise.all([...loops, typing])
  console.log(`${callers} callers with long queries`)
  report('  keystrokes', typedAnswers, durationMs)
  report('  three words', mixedAnswers, durationMs)
  if (callers > 0) report('  long', longAnswers, durationMs)
}

function report(name: string, answers: Answer[], durationMs: number): void {
  const times = answers.map(({ ms }) => ms)
  const count = (has: (answer: Answer) => boolean) => answers.filter(has).length
  const degraded = count(({ isDegraded, status }) => isDegraded && status === 200)
  const perSecond = (1_000 * answers.length) / durationMs
  console.log(
    `${name.padEnd(13)} ${answers.length} (${perSecond.toFixed(1)}/s), ` +
      `p50 ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms, ` +
      `${degraded} degraded (${count(({ source }) => source === 'database')} by PostgreSQL), ` +
      `${count(({ status }) => status !== 200)} rejected`,
  )
}
