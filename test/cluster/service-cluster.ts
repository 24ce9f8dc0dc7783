// The whole service as real processes: three API processes behind HAProxy, two PostgreSQL servers,
// two Meilisearch engines, three indexers, and Redis with Sentinels and as a cluster.
import type { Test } from 'tap'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { type PostgresPair, startPostgresPair } from '../support/servers/postgres-pair.ts'
import { startCluster, startSentinels } from '../support/servers/redis-topologies.ts'
import {
  type Programs,
  type RunningEngine,
  startEngine,
  startPrograms,
} from '../support/service/installation.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { type Haproxy, startHaproxy } from './haproxy.ts'

export type ServiceCluster = Programs & {
  /** The owner's connection to whichever PostgreSQL is the primary. */
  db: Database
  postgres: PostgresPair
  engines: [RunningEngine, RunningEngine]
  sentinels: Awaited<ReturnType<typeof startSentinels>>
  /** The API uses it only after `useRedisCluster`. */
  redisCluster: Awaited<ReturnType<typeof startCluster>>
  haproxy: Haproxy
  /** The tokens of the links that the load opens. */
  tokens: string[]
  productCount: number
}

const productCount = 400
const linkCount = 10
const things = ['Martillo', 'Taladro', 'Tornillo', 'Bisagra', 'Cerradura', 'Pintura', 'Broca']
const kinds = ['de acero', 'cromado', 'industrial', 'profesional', 'pequeño', 'reforzado']

/** Starts everything with some products, quotes and links. It ends with the test. */
export async function startServiceCluster(t: Test): Promise<ServiceCluster> {
  const [postgres, engines, sentinels, redisCluster] = await Promise.all([
    startPostgresPair(t),
    startEngines(t),
    startSentinels(t),
    startCluster(t),
  ])
  const db = openDatabase(postgres.database.url, { connections: 4 })
  t.teardown(() => db.destroy())
  const tokens = await addContents(db)
  // The rate limits are those of an installation that configures none.
  const programs = await startPrograms(
    createTemporaryDirectory(t, 'programs'),
    { databaseUrl: postgres.database.url, redisUrl: sentinels.url, engines },
    { count: 3, env: { TRUST_PROXY: '127.0.0.1' } },
  )
  t.teardown(() => programs.stop())
  const haproxy = await startHaproxy(t, programs.apis)
  return {
    ...programs,
    db,
    postgres,
    engines,
    sentinels,
    redisCluster,
    haproxy,
    tokens,
    productCount,
  }
}

/** Starts two engines, which end with the test. */
export async function startEngines(t: Test): Promise<[RunningEngine, RunningEngine]> {
  const directory = createTemporaryDirectory(t, 'engines')
  const engines = await Promise.all([
    startEngine(directory, 'main'),
    startEngine(directory, 'second'),
  ])
  t.teardown(() => Promise.all(engines.map(({ process }) => process.stop())))
  return engines
}

/** Returns the tokens of the links. */
async function addContents(db: Database): Promise<string[]> {
  const products = Array.from({ length: productCount }, (_, n) => ({
    sku: `SKU-${n}`,
    name: `${things[n % things.length]} ${kinds[n % kinds.length]} ${n}`,
  }))
  await db.insertInto('products').values(products).execute()
  const tokens: string[] = []
  for (let n = 0; n < linkCount; n++) {
    const number = `P-${n}`
    await addQuote(db, number, { status: 'accepted', decided_on: '2026-11-02' })
    tokens.push(await createQuoteLink(db, { number }))
  }
  return tokens
}
