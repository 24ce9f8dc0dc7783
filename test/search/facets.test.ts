// Every field by which products are filtered: it is imported, found, filtered, counted and shown,
// in the search engine and in PostgreSQL.
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { facetNames, productFields } from '../../src/products/fields.ts'
import { csvFile } from '../imports/import-files.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startCatalogue } from '../support/service/start-catalogue.ts'

lengthenTimeouts(t)

testBothSources(t, [], async (t, { source, service, search: searchOnce }) => {
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
    searchOnce(parameters, ({ hits }) => hits.length > 0)
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
  const { skus } = await startCatalogue(t, [
    { sku: 'A-4', name: 'Pieza d', supplier: 'Zorgon' },
    { sku: 'A-3', name: 'Pieza c', category: 'Zorgon' },
    { sku: 'A-2', name: 'Pieza b', brand: 'Zorgon' },
    { sku: 'A-1', name: 'Zorgon a' },
  ])
  const found = await skus('zorgon')
  t.equal(found.length, 4)
  t.equal(found.at(-1), 'A-4')
})
