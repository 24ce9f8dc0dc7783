// Executes the table of docs/architecture.md on the order of hits, with the engine and PostgreSQL.
import t from 'tap'
import { readCode, readDocumentedTable } from '../support/documented-table.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

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
// Equal hits keep the order of their ids, so the wrong one has the lower id.
const products = rules.flatMap((rule) => rule.products).toReversed()

testBothSources(t, products, async (t, { skus }) => {
  t.ok(rules.length > 9)
  for (const { rule, q, products: expected } of rules) {
    const own = expected.map(({ sku }) => sku)
    t.same(
      (await skus(q)).filter((sku) => own.includes(sku)),
      own,
      `${rule}: ${q}`,
    )
  }
})
