// Search as a subject of histories: products come, change, hide and go, and every search must show a state that was committed.
import { absent } from './model.ts'
import { type Change, instant, type Subject } from './subject.ts'

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

const everything = '/api/search?limit=50'

export const searchSubject = (): Subject => ({
  name: 'search',
  askEveryMs: 50,

  draw(random, serial) {
    if (random.chance(0.015)) return [truncate]
    const chosen = new Set(
      Array.from({ length: random.chance(0.2) ? random.between(2, 8) : 1 }, () =>
        random.pick(skus),
      ),
    )
    return [...chosen].map((sku, n) => {
      if (random.chance(0.7))
        return put(
          sku,
          `Pieza ${serial} ${n}`,
          `${random.between(1, 999)}.${random.between(10, 99)}`,
        )
      return random.chance(0.6)
        ? takeOut('remove', sku, 'delete from products where sku = $1')
        : takeOut('hide', sku, 'update products set active = false where sku = $1')
    })
  },

  async clear(client) {
    await client.query('truncate products cascade')
  },

  question: (random) => ({
    path: random.chance(0.6) ? everything : `/api/search?q=${random.pick(skus)}`,
  }),

  kind: ({ status, body }) =>
    status === 200 ? (JSON.parse(body) as Body).meta.source : String(status),

  judge(answer, { model, inTrouble }) {
    const bothDown = inTrouble('postgres', answer) && inTrouble('engine', answer)
    if (answer.status === null)
      return inTrouble(answer.api, answer) || bothDown
        ? null
        : `no answer (${answer.body}) though it was up`
    if (answer.status === 503 && (bothDown || inTrouble(answer.api, answer))) return null
    if (answer.status !== 200) return `status ${answer.status}: ${answer.body}`
    const { hits, meta } = JSON.parse(answer.body) as Body
    const from =
      meta.source === 'database'
        ? answer.sentAt
        : meta.indexedAt === null
          ? Number.NEGATIVE_INFINITY
          : Date.parse(meta.indexedAt)
    if (from > answer.endedAt + 5) return `indexedAt ${meta.indexedAt} is in the future`
    const asked =
      answer.path === everything ? skus : skus.filter((sku) => answer.path.endsWith(sku))
    for (const sku of asked) {
      const found = hits.filter((hit) => hit.sku === sku).map(shown)
      const possible = model.possible(sku, from, answer.endedAt)
      const wrong = (found.length > 0 ? found : [absent]).find((value) => !possible.has(value))
      if (wrong !== undefined)
        return `${sku} is ${wrong}, but between ${instant(from)} and ${instant(answer.endedAt)} it was ${[...possible].join(' or ')} (source ${meta.source})`
    }
    return null
  },

  finalQuestions: () => [{ path: everything }],

  judgeFinal(answer, { model }) {
    if (answer.status !== 200) return `status ${answer.status}`
    const { hits, meta } = JSON.parse(answer.body) as Body
    if (meta.source !== 'index') return `answered by ${meta.source}`
    for (const sku of skus) {
      const found = hits.filter((hit) => hit.sku === sku).map(shown)
      const possible = model.possible(sku, answer.sentAt, answer.endedAt)
      if (found.length > 1) return `${sku} is there ${found.length} times`
      if (!possible.has(found[0] ?? absent))
        return `${sku} is ${found[0] ?? absent}, not ${[...possible].join(' or ')}`
    }
    return null
  },
})

const truncate: Change = {
  words: 'truncate products',
  async apply(client) {
    await client.query('truncate products cascade')
    return skus.map((key) => ({ key, value: absent }))
  },
}

const put = (sku: string, name: string, price: string): Change => ({
  words: `put ${sku} ${name}`,
  async apply(client) {
    await client.query(
      `insert into products (sku, name, description, price, currency) values ($1, $2, $3, $4, 'EUR') on conflict (sku) do update
       set name = excluded.name, description = excluded.description, price = excluded.price, active = true`,
      [sku, name, `De ${name}`, price],
    )
    return [
      { key: sku, value: shown({ name, description: `De ${name}`, price: { amount: price } }) },
    ]
  },
})

const takeOut = (word: string, sku: string, statement: string): Change => ({
  words: `${word} ${sku}`,
  async apply(client) {
    const { rowCount } = await client.query(statement, [sku])
    // A product that another transaction is about to insert is not there yet, and stays.
    return rowCount === 0 ? [] : [{ key: sku, value: absent }]
  },
})

function shown({
  name,
  description,
  price,
}: Pick<Body['hits'][number], 'name' | 'description' | 'price'>): string {
  return `${name} / ${description} / ${price?.amount}`
}
