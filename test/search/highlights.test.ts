// The highlights of hits, as the search engine and PostgreSQL find them.
import t from 'tap'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

lengthenTimeouts(t)

const products = [
  { sku: 'AB-742-X', name: '😀 Camión de bomberos, camio\u0301n rojo', category: 'Camiones' },
  { sku: 'KQA', name: 'Taladro percutor 18 V', hs_code: '846721', brand: 'Ñandú' },
  { sku: 'KQB', name: 'Martillo carpintero mango de fresno' },
  { sku: 'KQC', name: '2 in. x 4 in. x 8 ft. Premium stud' },
  { sku: 'KQD', name: 'Peña de adorno' },
  { sku: 'KQE', name: 'Motores eléctricos trifásicos' },
  { sku: 'KQF', name: 'Cinta roja cinta azul cinta verde' },
]

/** What is highlighted in the first hit. */
const highlights: [q: string, texts: Record<string, string[]>][] = [
  ['cinta', { name: ['Cinta', 'cinta', 'cinta'] }],
  ['cint', { name: ['Cint', 'cint', 'cint'] }],
  ['martilo carpintero', { name: ['Martillo', 'carpintero'] }],
  ['taladro 18 voltios', { name: ['Taladro', '18 V'] }],
  ['taladro 18 v', { name: ['Taladro', '18 V'] }],
  // Even if the unit could be the beginning of a word.
  ['taladro 18v', { name: ['Taladro', '18 V'] }],
  ['tala', { name: ['Tala'] }],
  ['742x', { sku: ['742-X'] }],
  ['ab-742-x', { sku: ['AB-742-X'] }],
  ['camion', { name: ['Camión', 'camio\u0301n'], category: ['Camion'] }],
  ['CAMIÓ bomb', { name: ['Camió', 'bomb', 'camio\u0301'], category: ['Camio'] }],
  ['nandu', { brand: ['Ñandú'] }],
  ['ñand', { brand: ['Ñand'] }],
  ['8467.2', { hsCode: ['84672'] }],
  ['', {}],
]

testBothSources(t, products, async (t, { search }) => {
  t.test('words, typos, prefixes and codes in UTF-16 code units', async (t) => {
    for (const [q, texts] of highlights) {
      const [hit] = (await search({ q })).hits
      const found = Object.entries(hit?.highlights ?? {}).map(([name, ranges]) => [
        name,
        ranges.map(([start = 0, length = 0]) =>
          String(hit?.[name as 'name']).slice(start, start + length),
        ),
      ])
      t.same(Object.fromEntries(found), texts, q)
    }
  })

  t.test('ranges are sorted and lie inside the value', async (t) => {
    for (const q of ['taladro', 'peña', 'a', '2x4', 'ab-742', 'trifasicos', 'camion rojo']) {
      const { hits } = await search({ q })
      t.ok(hits.length > 0, q)
      for (const hit of hits)
        for (const [name, ranges] of Object.entries(hit.highlights)) {
          let end = 0
          for (const [start = 0, length = 0] of ranges) {
            t.ok(start >= end && length > 0, `${q} ${name}`)
            end = start + length
          }
          t.ok(end <= String(hit[name as 'name']).length, `${q} ${name}`)
        }
    }
  })
})
