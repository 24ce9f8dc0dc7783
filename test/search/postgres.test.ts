// What PostgreSQL finds while no engine is available: words and codes as people type them.
// stored-names.test.ts searches the products of a catalogue.
import { sql } from 'kysely'
import t from 'tap'
import { searchProducts } from '../support/database/search-products.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const products: Record<string, string> = {
  hexBolt: 'Perno hexagonal M8 x 45 DIN 933 A2',
  otherBolt: 'Perno hexagonal M8x40 DIN 933 A2',
  box65: 'Caja estanca IP 65 100x100 mm',
  box55: 'Caja estanca IP55 100 x 100 mm',
  bearing: 'Rodamiento rígido 6207-ZZ',
  otherBearing: 'Rodamiento rígido 6206 ZZ',
  cable: 'Cable rojo/negro 2x0,75 mm²',
  profile: 'Perfil UPN-100 S235JR',
  valve: 'Válvula de bola 1½" latón',
  otherValve: 'Válvula de bola ¾" latón',
  relay: 'Relé 230/400V 2P+N',
  ring: 'O-ring NBR 20×3',
  nbsp: 'Sierra\u00a0de\u00a0calar 650 W',
  soft: 'Desti\u00adlador de agua',
  street: 'Gewürzmühle weiß',
  lukasz: 'Klucz Łukasz',
  screwdriver: '十字螺丝刀 6mm',
  bolt: 'ボルト M6',
  cork: 'Tapón de corcho aglomerado',
  concrete: 'Hormigón rápido 25 kg',
  holder: 'Heart shaped candle holder hanging',
  dishwasher: 'Detergente lava vajillas limón',
  chainsaw: 'Motosierra gasolina 45cc',
  '6ES7214-1AG40-0XB0': 'Controlador compacto',
}

const queries: [query: string, first: keyof typeof products][] = [
  ['perno M8x45', 'hexBolt'],
  ['perno m8 × 40', 'otherBolt'],
  ['caja ip65', 'box65'],
  ['caja IP-55', 'box55'],
  ['6207zz', 'bearing'],
  ['6206-ZZ', 'otherBearing'],
  ['cable 2 x 0.75', 'cable'],
  ['upn100', 'profile'],
  ['S 235 JR', 'profile'],
  ['valvula 1 1/2"', 'valve'],
  ['válvula 3/4', 'otherValve'],
  ['oring nbr', 'ring'],
  ['sierra calar', 'nbsp'],
  ['destilador', 'soft'],
  ['weiss', 'street'],
  ['lukasz', 'lukasz'],
  ['螺丝刀', 'screwdriver'],
  ['ぼると', 'bolt'],
  ['corhco', 'cork'],
  ['dapon corcho', 'cork'],
  ['ormigon', 'concrete'],
  ['balbula laton', 'otherValve'],
  ['hangin hart holder', 'holder'],
  ['lavavajillas', 'dishwasher'],
  ['moto sierra', 'chainsaw'],
  ['motos', 'chainsaw'],
  ['hexBolt x 10', 'hexBolt'],
  ['5 uds box65', 'box65'],
  ['otherB0lt', 'otherBolt'],
  ['6ES7214-1AG40-OXBO', '6ES7214-1AG40-0XB0'],
]

t.test('what people type finds the right product first', async (t) => {
  const { app, db } = await testService(t, { config: withoutEngine, index: false })
  const rows = Object.entries(products).map(([sku, name]) => ({ sku, name }))
  await db.insertInto('products').values(rows).execute()
  for (const [q, first] of queries) {
    const { hits, meta } = await searchProducts(app, { q })
    t.match(meta, { source: 'database' })
    t.equal(hits[0]?.sku, first, q)
  }
  for (const { sku, name } of rows) {
    const { hits } = await searchProducts(app, { q: name })
    t.ok(
      hits.slice(0, 3).some((hit) => hit.sku === sku),
      name,
    )
  }
  for (const q of ['perno M8x99', 'qwzxqwzx', '6999zz']) {
    const { hits } = await searchProducts(app, { q })
    t.notOk(
      hits.some(({ match }) => match === 'exact' || match === 'words'),
      `no hit has ${q}`,
    )
  }
})

t.test('new words are known at once, and forgotten when no product has them', async (t) => {
  const { app, db } = await testService(t, { config: withoutEngine, index: false })
  const find = async (q: string) => (await searchProducts(app, { q })).hits.map(({ sku }) => sku)
  await db.insertInto('products').values({ sku: 'A', name: 'Amoladora' }).execute()
  t.same(await find('amoladara'), ['A'])
  await db.updateTable('products').set({ name: 'Taladro' }).execute()
  t.same(await find('taldro'), ['A'])
  await sql`select refresh_product_words()`.execute(db)
  const words = await db.selectFrom('product_words').select(['word', 'products']).execute()
  t.same(words, [{ word: 'taladro', products: 1 }])
})

/** Products, and what a query finds first among them. */
const catalogues: [claim: string, products: string, q: string, skus: string[]][] = [
  [
    'the most similar word among many with the same first letters',
    "select 'A-' || n, 'Martensita ' || n from generate_series(1, 1500) n union all select 'M', 'Martillo'",
    'martilo',
    ['M'],
  ],
  [
    'the best of too many products with a word',
    "select 'A-' || n, 'Mango de martillo ' || n from generate_series(1, 1500) n union all select 'M', 'Martillo'",
    'martillo',
    ['M'],
  ],
  ['a word with letters beyond the basic plane', "select 'D-1', '𐐨𐐩𐐪𐐫𐐬𐐭𐐮'", '𐐨𐐩𐐪𐐫𐐬𐐭𐐯', ['D-1']],
  ['a short word', "values ('A-1', 'Tornillo'), ('A-2', 'Cómoda')", 'c', ['A-2']],
  ['two short words', "values ('A-1', 'Cómoda'), ('A-2', 'Caja de plano')", 'DE PLA', ['A-2']],
]

for (const [claim, products, q, skus] of catalogues)
  t.test(`finds ${claim}`, async (t) => {
    const { app, db } = await testService(t, { config: withoutEngine, index: false })
    await sql.raw(`insert into products (sku, name) ${products}`).execute(db)
    const { hits, total } = await searchProducts(app, { q })
    t.same(hits.map(({ sku }) => sku).slice(0, skus.length), skus)
    if (total < 1000) return
    const found = new Set<string>()
    for (let offset = 0; offset < 400; offset += 50) {
      const page = await searchProducts(app, { q, limit: '50', offset: String(offset) })
      for (const { sku } of page.hits) found.add(sku)
    }
    t.equal(found.size, 400, 'later pages continue the list')
  })
