// The highlights of hits, as the search engine and PostgreSQL find them.
import t from 'tap'
import { searchProducts } from '../support/database/search-products.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startCatalogue } from '../support/service/start-catalogue.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

type Ranges = [start: number, length: number][]

const products = [
  { sku: 'DRILL', name: 'Taladro percutor 18 V' },
  { sku: 'HAMMER', name: 'Martillo carpintero mango de fresno' },
  { sku: 'STUD', name: '2 in. x 4 in. x 8 ft. Premium stud' },
  { sku: 'ROCK', name: 'Peña de adorno' },
  { sku: 'MOTORS', name: 'Motores eléctricos trifásicos' },
  { sku: 'TAPE', name: 'Cinta roja cinta azul cinta verde' },
  { sku: 'QW-742-X', name: 'Uno' },
  { sku: 'QW742X', name: 'Dos' },
]

t.test(
  'highlights several matches, typos, prefixes and codes, sorted and inside the value',
  async (t) => {
    const { search } = await startCatalogue(t, products)
    const highlighted = async (q: string, attribute: 'name' | 'sku' = 'name') => {
      const [hit] = (await search(q)).hits
      const ranges = hit?.highlights[attribute] as Ranges | undefined
      return ranges?.map(([start, length]) => hit?.[attribute].slice(start, start + length))
    }
    t.same(await highlighted('cinta'), ['Cinta', 'cinta', 'cinta'])
    t.same(await highlighted('cint'), ['Cint', 'cint', 'cint'])
    t.same(await highlighted('martilo carpintero'), ['Martillo', 'carpintero'])
    t.same(await highlighted('taladro 18 voltios'), ['Taladro', '18 V'])
    t.same(
      await highlighted('taladro 18v'),
      ['Taladro', '18 V'],
      'even if the unit could be the beginning of a word',
    )
    t.ok(['742-X', '742X'].includes((await highlighted('742x', 'sku'))?.[0] ?? ''))
    t.same(await highlighted('qw-742-x', 'sku'), ['QW-742-X'])
    for (const q of ['taladro', 'peña', 'a', '2x4', 'qw-742', 'trifasicos']) {
      const { hits } = await search(q)
      t.ok(hits.length > 0, q)
      for (const hit of hits) {
        for (const [attribute, ranges] of Object.entries(hit.highlights)) {
          let end = 0
          for (const [start, length] of ranges as Ranges) {
            t.ok(start >= end && length > 0, `${q} ${attribute}`)
            end = start + length
          }
          t.ok(end <= String(hit[attribute as 'name']).length, `${q} ${attribute}`)
        }
      }
    }
  },
)

t.test('PostgreSQL highlights words, prefixes, codes and sizes in UTF-16 code units', async (t) => {
  const service = await testService(t, { config: withoutEngine })
  await service.db
    .insertInto('products')
    .values([
      {
        sku: 'AB-742-X',
        name: '😀 Camión de bomberos, camio\u0301n rojo',
        category: 'Camiones',
        brand: 'Ñandú',
      },
      { sku: 'T-1', name: 'Taladro percutor 18 V', hs_code: '846721' },
    ])
    .execute()
  const highlighted = async (q: string) => {
    const { hits, meta } = await searchProducts(service.app, { q })
    t.equal(meta.source, 'database')
    const [hit] = hits
    return Object.fromEntries(
      Object.entries(hit?.highlights ?? {}).map(([attribute, ranges]) => [
        attribute,
        (ranges as Ranges).map(([start, length]) =>
          String(hit?.[attribute as 'name']).slice(start, start + length),
        ),
      ]),
    )
  }
  t.same(await highlighted('camion'), { name: ['Camión', 'camio\u0301n'], category: ['Camion'] })
  t.same(await highlighted('CAMIÓ bomb'), {
    name: ['Camió', 'bomb', 'camio\u0301'],
    category: ['Camio'],
  })
  t.same(await highlighted('nandu'), { brand: ['Ñandú'] })
  t.same(await highlighted('742x'), { sku: ['742-X'] })
  t.same(await highlighted('taladro 18 v'), { name: ['Taladro', '18 V'] })
  t.same(await highlighted('tala'), { name: ['Tala'] })
  t.same(await highlighted('8467.2'), { hsCode: ['84672'] })
  t.same(await highlighted(''), {})
})
