// The shape of the index changes whenever the code that builds documents changes them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { computeIndexShape } from '../../../src/indexing/documents/index-shape.ts'

const source = join(import.meta.dirname, '../../../src/indexing/documents/product-to-document.ts')

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

t.test('an edit of the code of documents changes the shape, or is confirmed here', async (t) => {
  const code = [...readCode(source).values()].join('')
  const shorten = (digest: string) => digest.slice(0, 16)
  const actual = {
    shape: shorten(computeIndexShape()),
    code: shorten(createHash('sha256').update(code).digest('hex')),
  }
  t.same(
    actual,
    { shape: 'd4f2d1780c4701c0', code: '9985f65e5e325d78' },
    'If only `code` differs, add a sample whose document changes. Then store these values: ' +
      `{ shape: '${actual.shape}', code: '${actual.code}' }`,
  )
})
