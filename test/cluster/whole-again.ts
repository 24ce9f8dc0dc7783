// Compares everything that the cluster holds with PostgreSQL: both indexes, the figures, and what
// each API process answers.
import { sql } from 'kysely'
import {
  findQuotesWithWrongTotals,
  findSummaryDifferences,
} from '../../src/stats/summary/check-months.ts'
import { eventually } from '../support/eventually.ts'
import { findIndexDifferences } from '../support/service/index-differences.ts'
import type { RunningApi } from '../support/service/installation.ts'
import { readJson } from './direct-requests.ts'
import type { ServiceCluster } from './service-cluster.ts'

const limitMs = 60_000

/**
 * Waits until everything agrees, while nothing is written. Returns the differences after a minute,
 * and otherwise nothing.
 */
export function untilWhole(cluster: ServiceCluster): Promise<string[]> {
  return eventually(
    () => findDifferences(cluster).catch((error: unknown) => [`cannot compare: ${error}`]),
    ({ length }) => length === 0,
    limitMs,
  )
}

async function findDifferences(cluster: ServiceCluster): Promise<string[]> {
  const { apis, engines, db } = cluster
  const differences = await Promise.all([
    ...apis.map((api) => findProblems(api)),
    ...engines.map((engine) => findIndexDifferences(db, engine)),
    findSummaryDifferences(db),
    findQuotesWithWrongTotals(db),
    findWrongFigures(cluster),
    findWrongNames(cluster),
  ])
  return differences.flat()
}

/** Returns what a process says that it cannot reach. */
async function findProblems({ opsUrl, url }: RunningApi): Promise<string[]> {
  const { degraded } = await readJson<{ degraded: string[] }>(`${opsUrl}/health/ready`)
  return degraded.map((dependency) => `${url}: no ${dependency}`)
}

/** Every process must answer the number and the revenue of the accepted quotes. */
async function findWrongFigures({ db, apis }: ServiceCluster): Promise<string[]> {
  const { rows } = await sql<{ expected: string }>`
    select format('%s quotes, %s', count(*), sum(round(net / rate, 2))) as expected
    from quotes where status = 'accepted'`.execute(db)
  const answers = apis.map(async ({ url }) => {
    const { quotes, revenue } = await readJson<{
      quotes: { byStatus: { accepted: number } }
      revenue: { total: { amount: string } }
    }>(`${url}/api/stats?date=accepted`)
    const answer = `${quotes.byStatus.accepted} quotes, ${revenue.total.amount}`
    return answer === rows[0]?.expected ? [] : [`${url}: ${answer}, not ${rows[0]?.expected}`]
  })
  return (await Promise.all(answers)).flat()
}

/** Every process must find the products that were changed last under their current names. */
async function findWrongNames({ db, apis }: ServiceCluster): Promise<string[]> {
  const products = await db
    .selectFrom('products')
    .select(['sku', 'name'])
    .where('name', 'like', 'Martillo renovado %')
    // The number at the end rises.
    .orderBy(sql`length(name)`, 'desc')
    .orderBy('name', 'desc')
    .limit(2)
    .execute()
  const answers = apis.flatMap(({ url }) =>
    products.map(async ({ sku, name }) => {
      const { hits } = await readJson<{ hits: { sku: string; name: string }[] }>(
        `${url}/api/search?q=${encodeURIComponent(sku)}`,
      )
      const found = hits.find((hit) => hit.sku === sku)?.name
      return found === name ? [] : [`${url}: ${sku} is ${found}, not ${name}`]
    }),
  )
  return (await Promise.all(answers)).flat()
}
