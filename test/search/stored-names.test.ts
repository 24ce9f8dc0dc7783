// Every product is found by its exact name among the first three, from the engine and from
// PostgreSQL, also with one wrong letter. STORED_NAMES_STEP=1 takes all products, and some minutes.
// Slow: it searches for hundreds of names.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

t.setTimeout(1_200_000)
lengthenTimeouts(t)

/** One of so many products of the demo is searched, and those that differ by a letter. */
const step = Number(process.env.STORED_NAMES_STEP ?? 120)

/** Names as makers of parts write them. */
const parts = readFileSync(new URL('part-names.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')

const readCsv = (name: string, options: object = {}) =>
  parse(gunzipSync(readFileSync(new URL(`../../demo/${name}`, import.meta.url))), {
    columns: true,
    ...options,
  }) as Record<string, string>[]

const sold = new Map(
  readCsv('online_retail_2010_2011.csv.gz').map(({ StockCode = '', Description = '' }) => [
    StockCode,
    Description.trim(),
  ]),
)
const catalogue = [
  ...[...sold].filter(([, name]) => name.length > 5).map(([sku, name]) => ({ sku, name })),
  ...parts.map((name, index) => ({ sku: `PART${index}`, name })),
]
const fold = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
const countOfName = new Map<string, number>()
for (const { name } of catalogue)
  countOfName.set(fold(name), (countOfName.get(fold(name)) ?? 0) + 1)
/** Several products may have one name. */
const searched = catalogue.filter(
  ({ sku, name }, index) =>
    (index % step === 0 || sku.startsWith('PART') || /^LETTER "[AEOUY]"/.test(name)) &&
    (countOfName.get(fold(name)) ?? 0) <= 3,
)

/** Replaces a letter in the middle of the longest word that has only letters. */
function withWrongLetter(name: string): string | null {
  const words = name.match(/(?<![\p{L}\p{N}])[\p{Script=Latin}]{6,}(?![\p{L}\p{N}])/gu) ?? []
  const longest = words.toSorted((a, b) => b.length - a.length)[0]
  if (!longest) return null
  const middle = Math.floor(longest.length / 2)
  const letter = longest[middle] === 'x' ? 'z' : 'x'
  return name.replace(longest, longest.slice(0, middle) + letter + longest.slice(middle + 1))
}

testBothSources(t, catalogue, async (t, { search }) => {
  const missing: string[] = []
  for (const { name, sku } of searched)
    for (const q of [name, withWrongLetter(name)]) {
      if (q === null || [...q].length > 200) continue
      const { hits } = await search({ q })
      const isFound = hits.slice(0, 3).some((hit) => fold(hit.name) === fold(name))
      if (!isFound) missing.push(`${q} (${sku} ${name}): ${hits[0]?.name}`)
    }
  t.same(missing, [])
  t.comment(`${searched.length} names`)
})
