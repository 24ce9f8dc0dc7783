// The shape of the index changes whenever the code that builds documents changes them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { computeIndexShape } from '../../../src/indexing/documents/index-shape.ts'

const root = join(import.meta.dirname, '../../..')
const source = join(root, 'src/indexing/documents/product-to-document.ts')

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

/** The files that decide what a document contains, each with a hash of its code. */
const confirmedHashes: Record<string, string> = {
  'src/indexing/documents/product-to-document.ts': '50caf40b02516cb2',
  'src/company/money.ts': '26a39c454d7033e2',
  'src/company/currencies.ts': '9cbe804fbb07b7a5',
  'src/text/enye-words.ts': '7b52352b43062c2c',
  'src/text/accent-folding.ts': 'd77f1904ed7d9c09',
  'src/text/sku-keys.ts': 'd5b9fdf56d7b07cb',
  'src/text/normalize.ts': '057d6ff6fbf6af23',
  'src/text/tokens.ts': '332c84475972907a',
  'src/text/numbers.ts': '7f8ebefdacf57b7a',
  'src/text/plurals.ts': 'ebaf243cfe7ed68f',
}

const confirmedShape = '3ddb9f854ccea68a'

const advice = `The code that builds documents has changed.
Is the document of some product different now? Then a sample must show it: add such a product to
sample-documents.ts, if the shape is still the same. If the documents of all products are as before,
as after a renaming, no sample is needed. Then store the new values in this test.`

t.test('an edit of the code of documents changes the shape, or is confirmed here', async (t) => {
  const shorten = (digest: string) => digest.slice(0, 16)
  const hash = (code: string) => shorten(createHash('sha256').update(code).digest('hex'))
  const hashes = Object.fromEntries(
    [...readCode(source)].map(([path, code]) => [relative(root, path), hash(code)]),
  )
  t.same(
    { shape: shorten(computeIndexShape()), hashes },
    { shape: confirmedShape, hashes: confirmedHashes },
    advice,
  )
})
