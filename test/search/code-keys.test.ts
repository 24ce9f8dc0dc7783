// The service and the database compute the same keys of codes, in every script. Otherwise a pin or
// a part of a code would find a product in the engine and not in PostgreSQL, or the reverse.
import { sql } from 'kysely'
import t from 'tap'
import { listSkuForms, mayShareSkuKey, toFoldedCodeKey, toSkuKey } from '../../src/text/sku-keys.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

lengthenTimeouts(t)

t.test(
  'the service and PostgreSQL compute the same key for every character that both define',
  async (t) => {
    const { db } = await testDatabase(t)
    const { rows } = await sql<{ code: number; inside: string; alone: string }>`
    select code, code_key('a' || chr(code) || 'b') as inside, code_key(chr(code)) as alone
    from generate_series(1, 1114111) as code
    where code not between 55296 and 57343 and unicode_assigned(chr(code))
  `.execute(db)
    t.ok(rows.length > 250_000)
    const different = rows.filter(({ code, inside, alone }) => {
      const character = String.fromCodePoint(code)
      if (/\p{Cn}/u.test(character)) return false
      return toSkuKey(`a${character}b`) !== inside || toSkuKey(character) !== alone
    })
    t.same(different, [])
  },
)

t.test('the endings of codes never split a surrogate pair', async (t) => {
  const names = ['ñan𝔸', 'ñ𝔸𝔸𝔸', '𝔸ñ', '𝔸𝔸𝔸𝔸s 3 mm', '2x𝔸4', `${'x'.repeat(39)}𝔸𝔸ñ`]
  for (const text of names) {
    const values = listSkuForms(toFoldedCodeKey(text))
    t.ok(values.length > 0)
    for (const value of values) t.ok(value.isWellFormed(), `${JSON.stringify(value)} of ${text}`)
  }
})

/** Letters, digits and signs that programs are known to treat differently. */
const awkward = [
  ...['Ñ', 'ñ', 'N\u0303', 'ß', 'İ', 'ı', 'Σ', 'ς', 'ΑΣ', 'Ω', '\u2126', 'Å', '\u212b', 'ª', 'ﬁ'],
  ...['日', 'ท', 'ที่', 'कि', 'א', 'ش', 'Ⓐ', '𝔸', 'Ⅷ', '²', '½', '٣', '७', '%', '_', '\\', '"', "'"],
]

const codes = awkward.map((text, n) => ({
  sku: `${text}-${100 + n}-Z${n}`,
  // Not the word in lower case: Σ at its end would become a different letter. Of SKUs that may
  // share a key, only the one that is written exactly so is pinned.
  pinnedAs: mayShareSkuKey(`${text}-1`)
    ? `${text}-${100 + n}-Z${n}`
    : `${[...text].map((letter) => letter.toLowerCase()).join('')}_${100 + n}z${n}`,
  pinnedTo: `fijado ${String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))}x`,
  parts: [`${text}-${100 + n}`, `${100 + n}-z${n}`],
}))
const products = codes.map(({ sku }) => ({ sku, name: 'Silla' }))

testBothSources(t, products, async (t, { service, skus }) => {
  await service.db
    .insertInto('search_pins')
    .values(codes.map(({ pinnedTo, pinnedAs }) => ({ query: pinnedTo, skus: [pinnedAs] })))
    .execute()
  for (const { sku, pinnedTo, parts } of codes) {
    const isFirst = ([first]: string[]) => first === sku
    t.equal((await skus(pinnedTo, isFirst))[0], sku, `pinned to ${pinnedTo}`)
    t.equal((await skus(sku, isFirst))[0], sku, 'the whole SKU')
    for (const part of parts) t.same(await skus(part), [sku], `${part} of ${sku}`)
  }
})
