// Later pages: they continue the same list, and have the same total and facets.
import t, { type Test } from 'tap'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { searchIndex } from '../support/service/start-catalogue.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

type Row = { sku: string; name: string; category?: string; active?: boolean }
const rows = (count: number, make: (n: number) => Row) =>
  Array.from({ length: count }, (_, n) => make(n))

/** Digits of other scripts are not in the key of a SKU, so these SKUs have the key of "Z". */
const toArabic = (n: number) =>
  String(n).replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'.charAt(Number(digit)))

type Case = {
  products: Row[]
  q: string
  /** The sizes of the pages that are read. */
  sizes: number[]
  total: number | ((total: number) => boolean)
  check?: (t: Test, skus: string[]) => void
}

const cases: Record<string, Case> = {
  'no product is missing or repeated after many SKUs with the same key': {
    products: [
      ...rows(212, (n) => ({ sku: `Z-${toArabic(1_000 + n)}`, name: 'Z' })),
      ...rows(200, (n) => ({ sku: `A-${n}`, name: 'Z' })),
    ],
    q: 'Z',
    sizes: [50],
    total: 412,
    check: (t, skus) => t.ok(skus.slice(0, 212).every((sku) => sku.startsWith('Z-'))),
  },
  'names with ñ come first over all pages': {
    products: ['Pena de cristal', 'Peña de adorno', 'Pena de madera', 'Peña negra'].map(
      (name, n) => ({ sku: `P${n}`, name }),
    ),
    q: 'peña',
    sizes: [1, 50],
    total: 4,
    check: (t, skus) => t.same(skus.slice(0, 2).toSorted(), ['P1', 'P3']),
  },
  'a relaxed list is the same in pages of any size': {
    products: [
      ...['Celosía corredera', 'Celosía nórdica', 'Corredera nórdica'].flatMap((name, pair) =>
        rows(20, (n) => ({ sku: `CE-${pair}-${n}`, name, category: `C${n % 3}` })),
      ),
      { sku: 'CE-3', name: 'Celosía corredera de madera, de un taller nórdico', category: 'C0' },
      { sku: 'CE-4', name: 'Molibdeno', category: 'C1' },
    ],
    q: 'celosía corredera nórdica molibdeno',
    sizes: [3, 8, 50],
    total: (total) => total > 20,
  },
  'totals are exact up to 1,000, and pages are consistent up to the last offset': {
    products: rows(1_060, (n) => ({
      sku: `R-${n}`,
      name: `Arandela ${String(n).padStart(4, '0')}`,
      active: n !== 0,
    })),
    q: 'arandela',
    sizes: [50],
    total: 1_000,
    check: (t, skus) => t.equal(skus.length, 1_050),
  },
  'totals below that are exact': {
    products: rows(999, (n) => ({ sku: `R-${n}`, name: 'Arandela', active: n !== 0 })),
    q: 'arandela',
    sizes: [50],
    total: 998,
  },
}

for (const [claim, { products, q, sizes, total, check }] of Object.entries(cases))
  t.test(claim, async (t) => {
    const service = await testService(t, { config: { SEARCH_CACHE_MB: 0 } })
    await service.db.insertInto('products').values(products).execute()
    await service.sync()
    const readPage = (limit: number, offset: number) =>
      searchIndex(t, service, {
        q,
        limit: String(limit),
        offset: String(offset),
        facets: 'category',
      })
    const lists: string[][] = []
    for (const size of sizes) {
      const list: string[] = []
      for (let offset = 0; offset <= 1_000; offset += size) {
        const page = await readPage(size, offset)
        t.ok(
          typeof total === 'function' ? total(page.total) : page.total === total,
          `${page.total}`,
        )
        const counts = Object.values(page.facets?.category ?? {})
        if (counts.length > 0)
          t.equal(
            counts.reduce((a, b) => a + b),
            page.total,
          )
        list.push(...page.hits.map(({ sku }) => sku))
        if (page.hits.length < size) break
      }
      t.equal(new Set(list).size, list.length, 'no product is repeated')
      lists.push(list)
    }
    for (const list of lists) t.same(list, lists[0], 'the size of pages changes nothing')
    t.same((await readPage(50, 1_000)).hits.length, lists[0]?.length === 1_050 ? 50 : 0)
    check?.(t, lists[0] ?? [])
  })
