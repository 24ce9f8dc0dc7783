// Each attack that docs/security.md numbers is tried by the tests that the page names for it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/security.md'), 'utf8')

/** The published weaknesses. There is no S5, S18, S19 and S26 to S29. */
const published = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
  .concat([20, 21, 22, 23, 24, 25], [30, 31, 32, 33, 34, 35, 36, 37, 38, 39])
  .map((number) => `S${number}`)

/** The files of the tests whose names end with each number, by the number. */
const testFiles = new Map<string, Set<string>>()
for (const name of readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.test.ts')) continue
  const text = readFileSync(join(root, 'test', name), 'utf8')
  for (const [, numbers = ''] of text.matchAll(/\btest\(\s*['"`].* \((S\d+(?:, S\d+)*)\)['"`],/g))
    for (const number of numbers.split(', '))
      testFiles.set(number, (testFiles.get(number) ?? new Set()).add(name.slice(0, -8)))
}

/** The rows of the table of attacks: number, attack and files. */
const attacks = [...page.matchAll(/^\| (S\d+) \| (.+) \| (`.+`) \|$/gm)].map(
  ([, number = '', attack = '', files = '']) => ({
    number,
    attack,
    files: files.split(', ').map((file) => file.slice(1, -1)),
  }),
)

t.test('docs/security.md lists each attack once, in order', async (t) => {
  const numbers = attacks.map(({ number }) => number)
  t.equal(published.length, 32)
  t.same(numbers.slice(0, published.length), published)
  const found = numbers.slice(published.length)
  t.same(
    found,
    found.map((_, index) => `S${40 + index}`),
  )
  t.ok(found.length >= 10)
})

t.test('every attack names exactly the files of the tests that are named after it', async (t) => {
  for (const { number, files } of attacks)
    t.same(files, [...(testFiles.get(number) ?? [])].sort(), number)
  const listed = new Set(attacks.map(({ number }) => number))
  t.same(
    [...testFiles.keys()].filter((number) => !listed.has(number)),
    [],
    'no other number',
  )
  const mentioned = [...page.matchAll(/\bS\d+\b/g)].map(([number]) => number)
  t.same(
    mentioned.filter((number) => !listed.has(number)),
    [],
    'the page explains each number',
  )
})

t.test('docs/security.md names test files that exist', async (t) => {
  const rows = page.split('\n').filter((line) => /^\| .* \| `[\w/-]+/.test(line))
  t.ok(rows.length > 40)
  for (const row of rows)
    for (const [, file = ''] of (row.split(' | ').at(-1) ?? '').matchAll(/`([\w/-]+)`/g))
      t.ok(
        ['test', 'browser'].some((kind) => existsSync(join(root, `test/${file}.${kind}.ts`))),
        file,
      )
})
