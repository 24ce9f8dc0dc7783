// Measures everything that docs/benchmarks.md shows, and writes that page.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { syncIndex } from '../../test/support/database/leased-target.ts'
import { runCommand } from '../cli/command.ts'
import { describeMachine, describeVersions } from './page/machine.ts'
import { measureAll, type Rates } from './page/measurements.ts'
import { formatPage, type Page } from './page/write-page.ts'
import { type BenchService, benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { generateQuotes } from './support/data/generated-quotes.ts'
import { knownItems } from './support/data/known-items.ts'
import { generateLines, insertLinkedQuote } from './support/data/linked-quotes.ts'
import { startApi } from './support/processes/api-process.ts'

const help = `
Usage: node scripts/bench/page.ts [--products N] [--quotes N] [--rate N] [--seconds N]
                                  [--faults FILE] [--output FILE]

Measures the times of answers at a fixed rate, runs the cluster test, and writes
docs/benchmarks.md.

  --products N   size of the catalogue. Default: 20000
  --quotes N     quotes behind the statistics, with five lines each. Default: 100000
  --rate N       requests a second. Default: 50
  --seconds N    duration of each measurement. Default: 8
  --faults FILE  use the tables of a cluster test (CLUSTER_REPORT) instead of running it
  --output FILE  default: docs/benchmarks.md
`

const options = {
  products: { type: 'string', default: '20000' },
  quotes: { type: 'string', default: '100000' },
  rate: { type: 'string', default: '50' },
  seconds: { type: 'string', default: '8' },
  faults: { type: 'string' },
  output: { type: 'string' },
} as const

const root = join(import.meta.dirname, '../..')
const warmUpSeconds = 2

await runCommand(help, options, async (values) => {
  const rates: Rates = {
    perSecond: Number(values.rate),
    seconds: Number(values.seconds),
    warmUpSeconds,
  }
  const machine = describeMachine()
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  let page: Omit<Page, 'faults'>
  const faultsFile = values.faults ?? join(servers.directory, 'faults.md')
  try {
    console.log('Creating the data ...')
    const products = await crossedCatalogue(Number(values.products))
    const service = await benchService(servers, 'page', products)
    const count = rates.perSecond * (rates.seconds + rates.warmUpSeconds)
    try {
      const data =
        `${products.length.toLocaleString('en')} products, ` +
        `${Number(values.quotes).toLocaleString('en')} quotes with five lines each, ` +
        `${count} quote links with twelve lines`
      const tokens = await addQuotes(service, Number(values.quotes), count)
      const texts = knownItems(products, 3 * count).map(({ queries }) => queries.clean)
      page = {
        circumstances: { ...machine, versions: await describeVersions(service) },
        data,
        rates,
        rows: await measureRows(service, [...new Set(texts)].slice(0, count), tokens, rates),
      }
    } finally {
      await service.close()
    }
    if (values.faults === undefined) await runClusterTest(faultsFile)
    const faults = readFileSync(faultsFile, 'utf8').trim()
    writeFileSync(
      values.output ?? join(root, 'docs/benchmarks.md'),
      formatPage({ ...page, faults }),
    )
  } finally {
    await servers.stop()
  }
  return 0
})

/** Returns the tokens of the links. */
async function addQuotes(
  { db, engine, indexName }: BenchService,
  quoteCount: number,
  linkCount: number,
): Promise<string[]> {
  await generateQuotes(db, quoteCount, { lines: 5, throughTriggers: 0, onProgress: () => {} })
  const lines = generateLines(12)
  const tokens: string[] = []
  for (let n = 0; n < linkCount; n++) tokens.push(await insertLinkedQuote(db, `LINK-${n}`, lines))
  // While changes of products are pending, no answer of search is cached.
  const registrationName = nameWithVersion('main')
  await syncIndex({ db, client: engine, indexName, registrationName })
  return tokens
}

async function measureRows(
  service: BenchService,
  texts: string[],
  tokens: string[],
  rates: Rates,
): Promise<Page['rows']> {
  const api = await startApi(service, {})
  try {
    return await measureAll({ service, api, texts, tokens }, rates)
  } finally {
    await api.stop()
  }
}

/** Throws if the test fails: the page must not show a run that broke a bar. */
async function runClusterTest(report: string): Promise<void> {
  console.log('Running the cluster test ...')
  const test = spawn(
    process.execPath,
    [join(root, 'scripts/test.ts'), 'test/cluster/faults.cluster.ts'],
    { stdio: 'inherit', env: { ...process.env, CLUSTER_REPORT: report } },
  )
  const [status] = await once(test, 'exit')
  if (status !== 0) throw new Error('The cluster test failed, so the page was not written.')
}
