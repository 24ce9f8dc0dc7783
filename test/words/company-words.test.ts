// The words of the company: synonyms, pins and hidden words apply within seconds, without a
// rebuild, in responses of the engine and of PostgreSQL.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { SearchResponse } from '../../src/search/schema.ts'
import { startIndexer } from '../indexing/run-indexer.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const products = [
  { sku: 'DST-1', name: 'Destornillador plano', category: 'Tools' },
  { sku: 'DSR-1', name: 'Desarmador grande', category: 'Tools' },
  { sku: 'SCR-1', name: 'Screwdriver small', category: 'Tools' },
  { sku: 'BIT-1', name: 'Puntas Zorgon', category: 'Bits' },
  { sku: 'LLV-1', name: 'Llave inglesa 300', category: 'Tools' },
  { sku: 'MCH-1', name: 'Megaspanner azul', category: 'Tools' },
  { sku: 'RAD-1', name: 'Radial 2000', category: 'Tyres' },
  { sku: 'AMO-1', name: 'Amoladora roja', category: 'Tools' },
  { sku: 'GRF-1', name: 'Grifo cromado', category: 'Water' },
  { sku: 'GRF-2', name: 'Grifo dorado', category: 'Water' },
  { sku: 'GRF-3', name: 'Grifo negro', category: 'Water' },
  { sku: 'GRIFO', name: 'Juego de juntas', category: 'Parts' },
  { sku: 'OLD-1', name: 'Grifo antiguo', category: 'Water', active: false },
  { sku: 'P/9', name: 'Cubo azul', category: 'Home' },
  { sku: 'BMB-1', name: 'Bombardinos plateados', category: 'Music' },
]

testBothSources(t, products, async (t, { source, service, search: searchSource }) => {
  const { db } = service
  if (source === 'index') await startIndexer(t, service)
  const search = (
    parameters: Record<string, string>,
    isExpected?: (response: SearchResponse) => boolean,
  ) => searchSource({ limit: '50', ...parameters }, isExpected)
  /** Waits until the search finds exactly these SKUs. */
  const finds = async (
    t: Test,
    parameters: Record<string, string>,
    skus: string[],
    order: (skus: string[]) => string[] = (skus) => skus.toSorted(),
  ) => {
    const listSkus = ({ hits }: SearchResponse) => order(hits.map(({ sku }) => sku))
    const response = await search(
      parameters,
      (latest) => String(listSkus(latest)) === String(order(skus)),
    )
    t.same(listSkus(response), order(skus), JSON.stringify(parameters))
  }
  const inOrder = (skus: string[]) => skus

  await t.test('the built-in trade words apply', async (t) => {
    await finds(t, { q: 'destornillador' }, ['DST-1', 'DSR-1', 'SCR-1'])
    await finds(t, { q: 'destornilladores' }, ['DST-1', 'DSR-1', 'SCR-1'])
  })

  await t.test('synonyms of the company apply, one-way and two-way', async (t) => {
    await finds(t, { q: 'quillab' }, [])
    await db
      .insertInto('search_synonyms')
      .values([
        { word: ' Quillab ', synonyms: ['zorgon', 'Destornillador Plano'], two_way: false },
        { word: 'llave inglesa', synonyms: ['megaspanner'] },
      ])
      .execute()
    await finds(t, { q: 'quillab' }, ['BIT-1', 'DST-1'])
    await finds(t, { q: 'quillabs' }, ['BIT-1', 'DST-1'])
    await finds(t, { q: 'zorgon' }, ['BIT-1'])
    await finds(t, { q: 'Llave Inglesa' }, ['LLV-1', 'MCH-1'])
    await finds(t, { q: 'megaspanner' }, ['MCH-1', 'LLV-1'], inOrder)
    // The engine may know the synonyms before the process does.
    const { hits } = await search(
      { q: 'megaspanner' },
      ({ hits }) => hits[1]?.highlights.name !== undefined,
    )
    t.match(hits[1]?.highlights.name?.[0], [0], 'the synonym is highlighted')
    await finds(t, { q: 'megaspanner 300' }, ['LLV-1'])
    await finds(t, { q: 'quillab', category: 'Bits' }, ['BIT-1'])
  })

  await t.test('a changed and a deleted synonym apply', async (t) => {
    await db
      .updateTable('search_synonyms')
      .set({ synonyms: ['amoladora'] })
      .where('word', '=', 'quillab')
      .execute()
    await finds(t, { q: 'quillab' }, ['AMO-1'])
    await db.deleteFrom('search_synonyms').execute()
    await finds(t, { q: 'quillab' }, [])
  })

  await t.test('a synonym is not followed further, and a loop ends', async (t) => {
    await db
      .insertInto('search_synonyms')
      .values([
        { word: 'alfa', synonyms: ['beta'], two_way: false },
        { word: 'beta', synonyms: ['alfa', 'zorgon'], two_way: false },
      ])
      .execute()
    await finds(t, { q: 'beta' }, ['BIT-1'])
    await finds(t, { q: 'alfa' }, [])
    await db.deleteFrom('search_synonyms').execute()
  })

  await t.test('built-in words can be switched off, one by one and all', async (t) => {
    await finds(t, { q: 'radial' }, ['RAD-1', 'AMO-1'])
    await db.insertInto('search_hidden_words').values({ word: 'Radial' }).execute()
    await finds(t, { q: 'radial' }, ['RAD-1'])
    await finds(t, { q: 'amoladora' }, ['AMO-1'])
    await finds(t, { q: 'destornillador' }, ['DST-1', 'DSR-1', 'SCR-1'])
    await db.insertInto('search_hidden_words').values({ word: '*' }).execute()
    await finds(t, { q: 'destornillador' }, ['DST-1'])
    await db.deleteFrom('search_hidden_words').execute()
    await finds(t, { q: 'destornillador' }, ['DST-1', 'DSR-1', 'SCR-1'])
  })

  await t.test('translations can be switched off, one by one and all', async (t) => {
    const translated = ['BMB-1']
    await finds(t, { q: 'saxhorns' }, translated)
    for (const word of ['saxhorns', 'Saxhorn', 'bombardino', '*']) {
      await db.insertInto('search_hidden_words').values({ word }).execute()
      await finds(t, { q: 'saxhorns' }, [])
      await finds(t, { q: 'bombardinos' }, ['BMB-1'])
      await db.deleteFrom('search_hidden_words').execute()
      await finds(t, { q: 'saxhorns' }, translated)
    }
  })

  await t.test('search ignores a hidden word beside others', async (t) => {
    await db
      .insertInto('search_hidden_words')
      .values([{ word: 'cromado', hides: 'word' }])
      .execute()
    await finds(t, { q: 'radial Cromado 2000' }, ['RAD-1'])
    await finds(t, { q: 'cromado' }, ['GRF-1'])
    await db.deleteFrom('search_hidden_words').execute()
  })

  await t.test('pinned products come first', async (t) => {
    await finds(t, { q: 'grifo' }, ['GRIFO', 'GRF-1', 'GRF-2', 'GRF-3'])
    await finds(t, { q: 'grifo negro' }, ['GRF-3'])
    await db
      .insertInto('search_pins')
      .values([
        { query: 'Grifo', skus: ['P/9', 'GRF-3', 'OLD-1', 'NONE', 'GRF-2'] },
        { query: 'zzyzx qwop', skus: ['AMO-1'] },
      ])
      .execute()
    await finds(t, { q: ' GRIFO ' }, ['GRIFO', 'P/9', 'GRF-3', 'GRF-2', 'GRF-1'], inOrder)
    await finds(t, { q: 'grifo', category: 'Water' }, ['GRF-3', 'GRF-2', 'GRF-1'], inOrder)
    await finds(t, { q: 'grifo negro' }, ['GRF-3'])
    await finds(t, { q: 'Zzyzx  qwóp' }, ['AMO-1'])
    const pages = await Promise.all(
      [0, 1, 2, 3, 4].map((offset) => search({ q: 'grifo', limit: '1', offset: String(offset) })),
    )
    t.same(
      pages.map(({ hits, total }) => [hits[0]?.sku, total]),
      ['GRIFO', 'P/9', 'GRF-3', 'GRF-2', 'GRF-1'].map((sku) => [sku, 5]),
      'page by page',
    )
  })

  await t.test('a pinned product that becomes inactive disappears', async (t) => {
    await db.updateTable('products').set({ active: false }).where('sku', '=', 'P/9').execute()
    await finds(t, { q: 'grifo' }, ['GRIFO', 'GRF-3', 'GRF-2', 'GRF-1'], inOrder)
    await db.deleteFrom('search_pins').execute()
    await finds(t, { q: 'grifo' }, ['GRIFO', 'GRF-1', 'GRF-2', 'GRF-3'])
  })

  if (source === 'index')
    await t.test('the index was not rebuilt', async (t) => {
      const { rows } = await sql`select from search_indexes`.execute(db)
      t.equal(rows.length, 1)
      const { results } = await service.engine.tasks.getTasks({
        types: ['indexSwap'],
        limit: 100,
      })
      const own = results.filter((task) =>
        JSON.stringify(task.details).includes(service.config.SEARCH_INDEX),
      )
      t.equal(own.length, 1, 'only the first build swapped indexes')
    })
})

t.test('where no product has all the words, a synonym counts as its word', async (t) => {
  const database = await testDatabase(t)
  await database.db
    .insertInto('products')
    .values(
      ['Zorgon rojo', 'Cubo rojo', 'Cubo rojo grande', 'Amoladora'].map((name, n) => ({
        sku: `R-${n}x`,
        name,
      })),
    )
    .execute()
  await database.db
    .insertInto('search_synonyms')
    .values({ word: 'Quilláb', synonyms: ['zorgon'] })
    .execute()
  const { app } = await testService(t, { database })
  const { hits } = await eventually(
    async () => (await app.inject('/api/search?q=quillab+rojo+amoladora')).json<SearchResponse>(),
    ({ hits }) => hits[0]?.sku === 'R-0x',
    5_000,
  )
  t.equal(hits[0]?.sku, 'R-0x', 'two of the words before the rarest one')
})
