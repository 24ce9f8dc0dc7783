// Executes the table of docs/architecture.md on the order of hits, with the engine and PostgreSQL.
import t from 'tap'
import { searchProducts } from '../support/database/search-products.ts'
import { readCode, readDocumentedTable } from '../support/documented-table.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { searchIndex } from '../support/service/start-catalogue.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

/** A cell is a name, perhaps with a SKU before it and a description behind a colon. */
function toProduct(cell: string, sku: string) {
  const [name = '', description = null] = cell.replace(/`.*?` /, '').split(': ')
  return { sku: readCode(cell)[0] ?? sku, name, description }
}

const rules = readDocumentedTable('rule').map(([rule = '', query = '', ...cells], index) => ({
  rule,
  q: readCode(query)[0] ?? '',
  products: cells.map((cell, place) => toProduct(cell, `RULE${index}${'XY'[place]}`)),
}))

for (const source of ['index', 'database'] as const)
  t.test(`from ${source}`, async (t) => {
    const hasEngine = source === 'index'
    const service = await testService(t, hasEngine ? {} : { config: withoutEngine, index: false })
    // Equal hits keep the order of their ids, so the wrong one has the lower id.
    const products = rules.flatMap((rule) => rule.products).toReversed()
    await service.db.insertInto('products').values(products).execute()
    if (hasEngine) await service.sync()
    t.ok(rules.length > 9)
    for (const { rule, q, products: expected } of rules) {
      const { hits } = hasEngine
        ? await searchIndex(t, service, { q })
        : await searchProducts(service.app, { q })
      const skus = expected.map(({ sku }) => sku)
      const found = hits.map(({ sku }) => sku).filter((sku) => skus.includes(sku))
      t.same(found, skus, `${rule}: ${q}`)
    }
  })
