// Every field by which products are filtered: it is imported, found, filtered, counted and shown,
// in the search engine and in PostgreSQL.
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { facetNames, productFields } from '../../src/products/fields.ts'
import { csvFile } from '../imports/import-files.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

for (const source of ['index', 'database'] as const)
  t.test(source, async (t) => {
    const service = await testService(t, {
      config: { SEARCH_CACHE_MB: 0, ...(source === 'database' && withoutEngine) },
    })
    const columns = facetNames.map((name) => productFields[name].column)
    const rows = [1, 2].map((n) => [
      `A-${n}`,
      'Pieza',
      ...columns.map((column) => `${column}el ${n}`),
    ])
    await importProducts(
      service.pool,
      csvFile(`sku,name,${columns}\n${rows.map((row) => row.join()).join('\n')}\n`),
    )
    if (source === 'index') await service.sync()
    const search = (parameters: Record<string, string>) =>
      eventually(
        () => searchProducts(service.app, parameters),
        ({ meta, hits }) => meta?.source === source && hits?.length > 0,
      )
    for (const name of facetNames) {
      const column = productFields[name].column
      const value = `${column}el 1`
      const { facets } = await search({ q: 'pieza', facets: name })
      t.same(facets, { [name]: { [value]: 1, [`${column}el 2`]: 1 } }, `facets=${name}`)
      const filtered = await search({ q: 'pieza', [name]: value.toUpperCase() })
      t.match(filtered.hits, [{ sku: 'A-1', [name]: value }], `?${name}=`)
      t.equal(filtered.hits.length, 1)
      const found = await search({ q: `${column}el` })
      t.equal(found.hits.length, 2, `the words of ${name} are found`)
      t.match(found.hits[0]?.highlights, { [name]: [[0, column.length + 2]] })
      const [bySku] = (await searchProducts(service.app, { sku: 'A-1' })).bySku ?? []
      t.match(bySku, { [name]: value })
    }
  })

t.test('the supplier of a product counts less than its name, brand and category', async (t) => {
  const service = await testService(t, { config: { SEARCH_CACHE_MB: 0 } })
  await service.db
    .insertInto('products')
    .values([
      { sku: 'A-4', name: 'Pieza d', supplier: 'Zorgon' },
      { sku: 'A-3', name: 'Pieza c', category: 'Zorgon' },
      { sku: 'A-2', name: 'Pieza b', brand: 'Zorgon' },
      { sku: 'A-1', name: 'Zorgon a' },
    ])
    .execute()
  await service.sync()
  const { hits } = await eventually(
    () => searchProducts(service.app, { q: 'zorgon' }),
    ({ meta }) => meta?.source === 'index',
  )
  t.equal(hits.length, 4)
  t.equal(hits.at(-1)?.sku, 'A-4')
})
