// Each attack that docs/security.md numbers is tried by a test whose name begins with the number.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

/** The published weaknesses. There is no S5, S18, S19 and S26 to S29. */
const attacks = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
  .concat([20, 21, 22, 23, 24, 25], [30, 31, 32, 33, 34, 35, 36, 37, 38, 39])
  .map((number) => `S${number}`)

const testTitles = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .flatMap((name) => {
    const text = readFileSync(join(root, 'test', name), 'utf8')
    const titles = text.matchAll(/\btest\(\s*['"`]((?:S\d+(?:, )?)+): /g)
    return [...titles].map(([, numbers = '']) => ({ name, numbers: numbers.split(', ') }))
  })

t.test('every attack has a test that is named after it', async (t) => {
  t.equal(attacks.length, 32)
  for (const attack of attacks)
    t.ok(
      testTitles.some(({ numbers }) => numbers.includes(attack)),
      attack,
    )
  const unknown = testTitles.flatMap(({ numbers }) => numbers).filter((n) => !attacks.includes(n))
  t.same(unknown, [], 'no test has another number')
})

t.test('docs/security.md names test files that exist', async (t) => {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| .* \| `[\w/-]+/.test(line))
  t.ok(rows.length > 20)
  for (const row of rows)
    for (const [, file = ''] of (row.split(' | ').at(-1) ?? '').matchAll(/`([\w/-]+)`/g))
      t.ok(readFileSync(join(root, `test/${file}.test.ts`)).length > 0, file)
})
