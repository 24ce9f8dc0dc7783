// Makes src/text/translations.csv: which Spanish word of the trade stands for which English one, worked out from names in both languages.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { numbersOf, wordKeys } from '../src/text/translations.ts'
import { runCommand } from './cli/command.ts'

const help = `
Usage: node scripts/translations.ts [--only even|odd] [--out FILE]

Reads names in Spanish and English (demo/cpv.csv.gz: the EU's procurement vocabulary) and writes the pairs of words that stand for each other:
competitive linking (Melamed 2000), in which each word of a name is linked to at most one of the other language, the surest pairs first, and pairs
count that are linked in most names that hold both. Overwrites hand-made changes: keep those in src/text/trade-synonyms.ts.

  --only even|odd   names in even or odd places only, to measure on the others
  --out FILE        default: src/text/translations.csv
`

const options = { only: { type: 'string' }, out: { type: 'string' } } as const
const target = join(import.meta.dirname, '../src/text/translations.csv')

const littleWords = new Set(
  'de del la las el los y o u e a en para por con sin que su sus al of and or the for in to with by on from other than not no otros otras etc'.split(
    ' ',
  ),
)

type Names = { es: string[]; en: string[] }

await runCommand(help, options, async ({ only, out = target }) => {
  const rows = parse(gunzipSync(readFileSync(join(import.meta.dirname, '../demo/cpv.csv.gz'))), {
    columns: true,
  }) as {
    name_es: string
    name_en: string
  }[]
  const names = rows
    .filter((_row, place) => only === undefined || (place % 2 === 0) === (only === 'even'))
    .map(({ name_es, name_en }) => ({ es: contentWords(name_es), en: contentWords(name_en) }))
  const pairs = linkedPairs(names)
  writeFileSync(out, `en,es\n${pairs.map(({ en, es }) => `${en},${es}\n`).join('')}`)
  console.log(`${pairs.length} pairs in ${out}`)
  return 0
})

function contentWords(name: string): string[] {
  return [
    ...new Set(
      wordKeys(name).filter(
        (word) => word.length >= 3 && !littleWords.has(word) && !/\d/.test(word),
      ),
    ),
  ]
}

/** Turns a word into its singular where that is among the words too. */
function inOneNumber(words: string[]): (word: string) => string {
  const known = new Set(words)
  return (word) =>
    word.endsWith('s')
      ? (numbersOf(word).find((form) => form !== word && known.has(form)) ?? word)
      : word
}

/** The likelier first among the translations of a word. */
function linkedPairs(names: Names[]): { en: string; es: string }[] {
  const oneNumber = {
    es: inOneNumber(names.flatMap(({ es }) => es)),
    en: inOneNumber(names.flatMap(({ en }) => en)),
  }
  const stems = names.map(({ es, en }) => ({
    es: [...new Set(es.map(oneNumber.es))],
    en: [...new Set(en.map(oneNumber.en))],
  }))
  const together = new Map<string, number>()
  const [countEs, countEn] = [new Map<string, number>(), new Map<string, number>()]
  const add = (map: Map<string, number>, key: string, by = 1) =>
    map.set(key, (map.get(key) ?? 0) + by)
  for (const { es, en } of stems) {
    for (const word of es) add(countEs, word)
    for (const word of en) add(countEn, word)
    for (const one of en) for (const other of es) add(together, `${one} ${other}`)
  }
  const dice = (en: string, es: string) =>
    (2 * (together.get(`${en} ${es}`) ?? 0)) / ((countEn.get(en) ?? 0) + (countEs.get(es) ?? 0))
  let score = dice
  let links = new Map<string, number>()
  for (let round = 0; round < 4; round++) {
    links = new Map()
    for (const { es, en } of stems) {
      const left = { es: new Set(es), en: new Set(en) }
      const candidates = en.flatMap((one) =>
        es.map((other) => ({ one, other, score: score(one, other) })),
      )
      for (const { one, other, score } of candidates.toSorted((a, b) => b.score - a.score)) {
        if (score < 0.02 || !left.en.has(one) || !left.es.has(other)) continue
        left.en.delete(one)
        left.es.delete(other)
        add(links, `${one} ${other}`)
      }
    }
    const found = links
    score = (en, es) => {
      const key = `${en} ${es}`
      return ((found.get(key) ?? 0) / ((together.get(key) ?? 0) + 1)) * Math.sqrt(dice(en, es))
    }
  }
  // A pair seen once counts where it is all there is in both names.
  const alone = new Set(
    stems.flatMap(({ es, en }) =>
      es.length === 1 && en.length === 1 ? [`${en[0]} ${es[0]}`] : [],
    ),
  )
  return [...links]
    .map(([key, count]) => ({
      key,
      count,
      together: together.get(key) ?? 0,
      en: key.split(' ')[0] ?? '',
      es: key.split(' ')[1] ?? '',
    }))
    .filter(({ en, es }) => en !== es)
    .filter(
      ({ key, count, together, en, es }) =>
        alone.has(key) || (count >= 2 && count / together >= 0.6 && dice(en, es) >= 0.15),
    )
    .toSorted((a, b) => (a.en < b.en ? -1 : Number(a.en > b.en)) || b.count - a.count)
}
