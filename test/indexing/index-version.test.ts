// The version of the index rises with every change of its settings or of its documents.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { type IndexedRow, toDocument } from '../../src/indexing/documents.ts'
import { indexSettings } from '../../src/indexing/settings.ts'
import { indexVersion } from '../../src/search-engine/index-name.ts'

const product: IndexedRow = {
  id: '1',
  sku: 'AB-742.x/9 Ñ',
  name: 'Tornillos (M6) de 2 x 4,5 x 8 cm, 18 V · ¾" ñandú 10 uds.',
  description: 'Acero 304, 1.200 mm',
  category: 'Tornillería',
  brand: 'Ácana',
  supplier: 'Suministros Peña',
  unit: 'C62',
  price: '12.5',
  currency: 'EUR',
  hs_code: '731815',
  origin_country: 'ES',
  popularity: 3,
  quotedRank: 7,
}

const bareProduct: IndexedRow = {
  id: '2',
  sku: '00123',
  name: 'Screwdriver set 1/4 in',
  description: null,
  category: null,
  brand: null,
  supplier: null,
  unit: null,
  price: null,
  currency: null,
  hs_code: null,
  origin_country: null,
  popularity: null,
  quotedRank: null,
}

/** Between them, these documents show what the code that builds documents does. */
const samples: IndexedRow[] = [
  product,
  bareProduct,
  { ...product, id: '3', sku: '*' },
  { ...product, id: '4', sku: 'ΑΣ-²-٣-ที่' },
  { ...product, id: '5', name: '<b>Broca</b> ⌀20 mm 3M™' },
]

const root = join(import.meta.dirname, '../..')
const source = join(root, 'src/indexing/documents.ts')

/** Returns the lines, without comments, of this file and of the files of the project it uses. */
function readCode(path: string, code = new Map<string, string>()): Map<string, string> {
  if (code.has(path)) return code
  const lines = readFileSync(path, 'utf8').split('\n')
  const text = lines.filter((line) => !/^\s*(\/\/|\/?\*)/.test(line)).join('\n')
  code.set(path, text)
  for (const [, file = ''] of text.matchAll(/^(?!import type).* from '(\..+)'$/gm))
    readCode(join(dirname(path), file), code)
  return code
}

/** The version, what it stands for, and the files that decide it, with a hash of their code. */
const confirmed = {
  version: 1,
  shape: '1f53c2b5b60b977b',
  code: '4c90290c4cc3b508',
}

const advice = `The settings of the index or the code that builds documents have changed.
If the shape is another one, increase indexVersion, unless the last release has a lower one already.
If it is the same: is the document of some product different now? Then add such a product to the
samples. If the documents of all products are as before, as after a renaming, no sample is needed.
Then store the new values in this test.`

t.test('a change of settings or documents increases the version, or is confirmed', async (t) => {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
  const files = [...readCode(source)].map(([path, code]) => `${relative(root, path)}\n${code}`)
  const shape = hash(JSON.stringify([indexSettings, samples.map(toDocument)]))
  t.same({ version: indexVersion, shape, code: hash(files.join('\n')) }, confirmed, advice)
})
