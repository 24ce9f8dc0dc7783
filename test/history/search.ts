// Search as the subject of histories: products come, change, hide and go, and every search must show a state that was committed.
import type { Effect } from './model.ts'
import type { Subject } from './subject.ts'

type Change = { kind: 'put' | 'remove' | 'hide'; sku: string; name: string; price: string } | { kind: 'truncate' }

const skus = Array.from({ length: 24 }, (_, n) => `HX-${101 + n}`) as [string, ...string[]]
const absent = 'absent'

type Body = {
  hits: { sku: string; name: string; price: { amount: string } | null; description: string | null }[]
  meta: { source: 'index' | 'database'; indexedAt: string | null }
}

export const searchSubject: Subject<Change> = {
  name: 'search',
  initial: absent,

  draw(random, serial) {
    if (random.chance(0.015)) return [{ kind: 'truncate' }]
    const chosen = new Set(Array.from({ length: random.chance(0.2) ? random.between(2, 8) : 1 }, () => random.pick(skus)))
    return [...chosen].map((sku, n) => ({
      kind: random.chance(0.7) ? 'put' : random.chance(0.6) ? 'remove' : 'hide',
      sku,
      name: `Pieza ${serial} ${n}`,
      price: `${random.between(1, 999)}.${random.between(10, 99)}`,
    }))
  },

  describe: (change) =>
    change.kind === 'truncate' ? 'truncate' : `${change.kind} ${change.sku}${change.kind === 'put' ? ` ${change.name}` : ''}`,

  async apply(client, change): Promise<Effect[]> {
    if (change.kind === 'truncate') {
      await client.query('truncate products cascade')
      return skus.map((key) => ({ key, value: absent }))
    }
    const { kind, sku, name, price } = change
    if (kind !== 'put') {
      const statement = kind === 'remove' ? 'delete from products where sku = $1' : 'update products set active = false where sku = $1'
      const { rowCount } = await client.query(statement, [sku])
      // A product that another transaction is about to insert is not there yet, and stays.
      return rowCount === 0 ? [] : [{ key: sku, value: absent }]
    }
    await client.query(
      `insert into products (sku, name, description, price, currency) values ($1, $2, $3, $4, 'EUR') on conflict (sku) do update
       set name = excluded.name, description = excluded.description, price = excluded.price, active = true`,
      [sku, name, `De ${name}`, price],
    )
    return [{ key: sku, value: shown({ name, description: `De ${name}`, price: { amount: price } }) }]
  },

  async clear(client) {
    await client.query('truncate products cascade')
  },

  question: (random) => (random.chance(0.6) ? everything : `/api/search?q=${random.pick(skus)}`),

  judge(answer, model) {
    const { hits, meta } = JSON.parse(answer.body) as Body
    const from =
      meta.source === 'database' ? answer.sentAt : meta.indexedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(meta.indexedAt)
    if (from > answer.endedAt + 5) return `indexedAt ${meta.indexedAt} is in the future`
    const asked = answer.path === everything ? skus : skus.filter((sku) => answer.path.endsWith(sku))
    for (const sku of asked) {
      const found = hits.filter((hit) => hit.sku === sku).map(shown)
      const possible = model.possible(sku, from, answer.endedAt)
      const wrong = (found.length > 0 ? found : [absent]).find((value) => !possible.has(value))
      if (wrong !== undefined)
        return `${sku} is ${wrong}, but between ${instant(from)} and ${instant(answer.endedAt)} it was ${[...possible].join(' or ')} (source ${meta.source})`
    }
    return null
  },

  finalQuestion: '/api/search?limit=50',

  judgeFinal(answer, model) {
    if (answer.status !== 200) return `status ${answer.status}`
    const { hits, meta } = JSON.parse(answer.body) as Body
    if (meta.source !== 'index') return `answered by ${meta.source}`
    for (const sku of skus) {
      const found = hits.filter((hit) => hit.sku === sku).map(shown)
      const possible = model.possible(sku, answer.sentAt, answer.endedAt)
      if (found.length > 1) return `${sku} is there ${found.length} times`
      if (!possible.has(found[0] ?? absent)) return `${sku} is ${found[0] ?? absent}, not ${[...possible].join(' or ')}`
    }
    return null
  },
}

const everything = '/api/search?limit=50'

function shown({ name, description, price }: Pick<Body['hits'][number], 'name' | 'description' | 'price'>): string {
  return `${name} / ${description} / ${price?.amount}`
}

const instant = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : 'ever')
