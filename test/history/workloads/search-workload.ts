// The search workload: products are written, hidden and deleted, and every search response must
// show a committed state.
import { engineNames } from '../cluster.ts'
import { absent } from '../committed-states.ts'
import {
  type ApiResponse,
  type Change,
  type CheckContext,
  formatInstant,
  type Workload,
} from './workload.ts'

const skus = Array.from({ length: 24 }, (_, n) => `HX-${101 + n}`) as [string, ...string[]]

type Body = {
  hits: {
    sku: string
    name: string
    price: { amount: string } | null
    description: string | null
  }[]
  meta: { source: 'index' | 'database'; indexedAt: string | null }
}

/** Products that no response shows, which make the index larger. Their names come last. */
const furtherProducts = 1_200
/**
 * Few answers may come from PostgreSQL without a fault of both engines. A busy machine may stop an
 * engine for a moment: the answers of the worst second do not count. An engine that flaps fails
 * more often than once.
 */
const maxFallbackShare = 0.02
const minFallbacks = 3
const uncountedPeriodMs = 1_000

const allProductsPath = '/api/search?limit=50'
/** `indexedAt` is the database's time. The clock of this process may differ by this much. */
const clockToleranceMs = 5

export const searchWorkload = (): Workload => ({
  requestIntervalMs: 50,

  drawChanges(random, serial) {
    if (random.chance(0.015)) return [truncateProducts]
    if (random.chance(0.02)) return [renameFurtherProducts(serial)]
    const chosen = new Set(
      Array.from({ length: random.chance(0.2) ? random.between(2, 8) : 1 }, () =>
        random.pick(skus),
      ),
    )
    return [...chosen].map((sku, n) => {
      if (random.chance(0.7))
        return upsertProduct(
          sku,
          `Pieza ${serial} ${n}`,
          `${random.between(1, 999)}.${random.between(10, 99)}`,
        )
      return random.chance(0.6) ? deleteProduct(sku) : hideProduct(sku)
    })
  },

  async clear(client) {
    await client.query('truncate products cascade')
    await client.query(
      `insert into products (sku, name)
       select 'ZZ-' || n, 'Zócalo de relleno número ' || n from generate_series(1, $1) n`,
      [furtherProducts],
    )
  },

  nextRequest: (random) => ({
    path: random.chance(0.6) ? allProductsPath : `/api/search?q=${random.pick(skus)}`,
  }),

  checkResponse(response, { states, isFaulty }) {
    const isNothingUp = isFaulty('postgres', response) && isEveryEngineFaulty(response, isFaulty)
    const isExcused = isNothingUp || isFaulty(response.api, response)
    if (response.status === null)
      return isExcused ? null : `no response (${response.body}) although the API was up`
    // Without an engine, PostgreSQL answers only what it can within its limits.
    if (response.status === 503 && (isExcused || isEveryEngineFaulty(response, isFaulty)))
      return null
    if (response.status !== 200) return `status ${response.status}: ${response.body}`
    const { hits, meta } = JSON.parse(response.body) as Body
    if (meta.source === 'index' && isFaulty('restored data', response)) return null
    const from = oldestAllowedState(response, meta)
    if (from > response.endedAt + clockToleranceMs)
      return `indexedAt ${meta.indexedAt} is in the future`
    const requested =
      response.path === allProductsPath ? skus : skus.filter((sku) => response.path.endsWith(sku))
    for (const sku of requested) {
      const shown = hits.filter((hit) => hit.sku === sku).map(formatProduct)
      const possible = states.possibleValues(sku, from, response.endedAt)
      const wrong = (shown.length > 0 ? shown : [absent]).find((value) => !possible.has(value))
      if (wrong !== undefined)
        return (
          `${sku} is ${wrong}, but between ${formatInstant(from)} and ` +
          `${formatInstant(response.endedAt)} it was ${[...possible].join(' or ')} ` +
          `(source ${meta.source})`
        )
    }
    return null
  },

  checkTogether(responses, { isFaulty, startedAt }) {
    const answered = responses.filter(
      (response) =>
        response.status === 200 &&
        !isFaulty(response.api, response) &&
        !isEveryEngineFaulty(response, isFaulty),
    )
    const fallbacks = answered.filter(
      ({ body }) => (JSON.parse(body) as Body).meta.source === 'database',
    )
    const counted = fallbacks.length - countInWorstPeriod(fallbacks.map(({ sentAt }) => sentAt))
    if (counted <= Math.max(minFallbacks, maxFallbackShare * answered.length)) return null
    const examples = fallbacks.slice(0, 10).map(({ api, sentAt, endedAt }) => {
      const seconds = ((sentAt - startedAt) / 1_000).toFixed(3)
      return `${api} at ${seconds} s, took ${endedAt - sentAt} ms`
    })
    return (
      `${fallbacks.length} of ${answered.length} searches came from PostgreSQL while an engine ` +
      `was up: ${examples.join('; ')}`
    )
  },

  finalRequests: () => [{ path: allProductsPath }],

  checkFinalResponse(response, { states }) {
    if (response.status !== 200) return `status ${response.status}`
    const { hits, meta } = JSON.parse(response.body) as Body
    if (meta.source !== 'index') return `the source is ${meta.source}`
    for (const sku of skus) {
      const shown = hits.filter((hit) => hit.sku === sku).map(formatProduct)
      const possible = states.possibleValues(sku, response.sentAt, response.endedAt)
      if (shown.length > 1) return `${sku} occurs ${shown.length} times`
      if (!possible.has(shown[0] ?? absent))
        return `${sku} is ${shown[0] ?? absent}, not ${[...possible].join(' or ')}`
    }
    return null
  },
})

/** The most of these instants (ms) that lie within one period that is not counted. */
function countInWorstPeriod(instants: number[]): number {
  const counts = instants.map(
    (start) =>
      instants.filter((instant) => instant >= start && instant < start + uncountedPeriodMs).length,
  )
  return Math.max(0, ...counts)
}

function isEveryEngineFaulty(response: ApiResponse, isFaulty: CheckContext['isFaulty']): boolean {
  return engineNames.every((name) => isFaulty(name, response))
}

/** The instant from which on a response may show any committed state. */
function oldestAllowedState({ sentAt }: ApiResponse, { source, indexedAt }: Body['meta']): number {
  if (source === 'database') return sentAt
  return indexedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(indexedAt)
}

const truncateProducts: Change = {
  description: 'truncate products',
  async apply(client) {
    await client.query('truncate products cascade')
    return skus.map((key) => ({ key, value: absent }))
  },
}

const renameFurtherProducts = (serial: number): Change => ({
  description: 'rename all further products',
  async apply(client) {
    await client.query(
      `update products set name = 'Zócalo de relleno número ' || substr(sku, 4) || ' ' || $1
       where sku like 'ZZ-%'`,
      [serial],
    )
    return []
  },
})

const upsertProduct = (sku: string, name: string, price: string): Change => ({
  description: `upsert ${sku} ${name}`,
  async apply(client) {
    const description = `De ${name}`
    await client.query(
      `insert into products (sku, name, description, price, currency)
       values ($1, $2, $3, $4, 'EUR')
       on conflict (sku) do update
       set name = excluded.name, description = excluded.description, price = excluded.price,
         active = true`,
      [sku, name, description, price],
    )
    return [{ key: sku, value: formatProduct({ name, description, price: { amount: price } }) }]
  },
})

const deleteProduct = (sku: string) =>
  removeFromSearch(`delete ${sku}`, sku, 'delete from products where sku = $1')

const hideProduct = (sku: string) =>
  removeFromSearch(`hide ${sku}`, sku, 'update products set active = false where sku = $1')

const removeFromSearch = (description: string, sku: string, statement: string): Change => ({
  description,
  async apply(client) {
    const { rowCount } = await client.query(statement, [sku])
    // A product that another open transaction inserts is not visible here, and so it stays.
    return rowCount === 0 ? [] : [{ key: sku, value: absent }]
  },
})

function formatProduct({
  name,
  description,
  price,
}: Pick<Body['hits'][number], 'name' | 'description' | 'price'>): string {
  return `${name} / ${description} / ${price?.amount}`
}
