// The whole service as real processes: three API processes behind HAProxy, two PostgreSQL servers,
// two Meilisearch engines, three indexers, and Redis with Sentinels and as a cluster.
import type { Test } from 'tap'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { type PostgresPair, startPostgresPair } from '../support/servers/postgres-pair.ts'
import { startCluster, startSentinels } from '../support/servers/redis-topologies.ts'
import { type Engine, startEngines } from './engines.ts'
import { type Haproxy, startHaproxy } from './haproxy.ts'
import { type Programs, startPrograms } from './programs.ts'

export type ServiceCluster = Programs & {
  /** The owner's connection to whichever PostgreSQL is the primary. */
  db: Database
  postgres: PostgresPair
  engines: [Engine, Engine]
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
  const programs = await startPrograms(t, {
    databaseUrl: postgres.database.url,
    redisUrl: sentinels.url,
    engines,
  })
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
