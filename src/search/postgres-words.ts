// Turns the tokens of a query into full-text queries of PostgreSQL. Corrects words that no product
// has, by the table of the words that products have.
import { sql } from 'kysely'
import type { ParsedQuery, QueryToken } from '../text/parse-query.ts'
import { listNumberForms } from '../text/plurals.ts'
import { toSound } from '../text/tokens.ts'
import { countTypos } from '../text/typos.ts'
import type { TokenWeights } from './order.ts'

/** What each token of a query is found by. */
export type TokenTerms = {
  /** A full-text query: a product with it has the token, as far as PostgreSQL can tell. */
  loose: string
  /** The same for a code or size whose parts stand side by side. */
  strict: string
  /** About how many products have it. */
  products: number
  /** About how many entries of the index are read for it. */
  postings: number
}

export type QueryTerms = {
  /** Null for a token that no product has. */
  tokens: (TokenTerms | null)[]
  /** The query with the words by which others were corrected. */
  query: ParsedQuery
  weights: TokenWeights
}

type KnownWord = { word: string; products: number }
type WordRow = {
  text: string
  atoms: string[]
  /** Null: no product has it. */
  products: number | null
  /** Of the last word only: words that begin with it. */
  beginnings: KnownWord[] | null
  /** Of unknown words only. */
  similar: KnownWord[] | null
  /** Words that end with it, or begin with it. */
  longer: KnownWord[] | null
  split: string[] | null
}

/** A word of this many letters is in the table of words. */
const minLetters = 3
const maxBeginnings = 30
const maxLonger = 12
const maxCorrections = 4
/** Further beginnings are left out when so many products have the earlier ones. */
const maxProductsOfBeginnings = 100_000
/** Numbers of one or two digits are in many products. */
const productsOfShortNumber = 50_000
/** Codes and short words are not counted. They are about as frequent as this. */
const productsOfCode = 20

/** Looks the words up and returns what to search for. */
export function buildLookUp(query: ParsedQuery) {
  const typed = query.tokens.flatMap(({ kind, text }) => (kind === 'word' ? [text] : []))
  const texts = new Set<string>()
  for (const [index, token] of query.tokens.entries()) {
    for (const text of [
      ...listForms(token),
      ...listDigitForms(token, query.text),
      ...token.translations,
    ])
      texts.add(text)
    const next = query.tokens[index + 1]
    if (token.kind === 'word' && next) texts.add(token.text + next.text)
  }
  const last = query.tokens.at(-1)
  const unfinished = last?.isLast && last.kind === 'word' ? last.text : null
  const all = [...new Set([...typed, ...texts])]
  return sql<WordRow>`
    with typed as materialized (
      select text, search_atoms(text) as atoms, place, array_to_string(search_atoms(text), '') as word
      from unnest(${all}::text[]) with ordinality as t (text, place)
    ), known as materialized (
      select typed.*, (select max(products) from product_words as w where w.word = typed.word) as products
      from typed
    )
    select text, atoms, products,
      case when text = ${unfinished} and word <> '' then (
        select json_agg(w) from (
          select word, max(products) as products from product_words as w
          where w.word like known.word || '%' and w.word <> known.word
          group by word order by 2 desc limit ${sql.lit(maxBeginnings)}
        ) as w
      ) end as beginnings,
      case when products is null and place <= ${typed.length} and length(word) > 3 then (
        select json_agg(w) from similar_words(word) as w
      ) end as similar,
      case when products is null and place <= ${typed.length} and length(word) > 4 then (
        select json_agg(w) from (
          select word, max(products) as products from product_words as w
          where w.word like '%' || known.word or w.word like known.word || '%'
          group by word order by 2 desc limit ${sql.lit(maxLonger)}
        ) as w
      ) end as longer,
      case when products is null and place <= ${typed.length} and length(word) > 5 then (
        select array[a.word, b.word]
        from generate_series(3, length(known.word) - 3) as n
        join product_words as a on a.word = left(known.word, n)
        join product_words as b on b.word = substr(known.word, n + 1)
        order by least(a.products, b.products) desc limit 1
      ) end as split
    from known order by place
  `
}

/** Returns what to search for, given what is known of the words. */
export function buildTerms(query: ParsedQuery, rows: WordRow[]): QueryTerms {
  const byText = new Map(rows.map((row) => [row.text, row]))
  const corrections = new Map<number, string[]>()
  const splits = new Map<number, string[]>()
  const tokens = query.tokens.map((token, index): TokenTerms | null => {
    const strict = new Set<string>()
    const loose = new Set<string>()
    let products = 0
    const addUnfinished = (atoms: string[]) => {
      const lexemes = listLexemes(atoms)
      const last = lexemes.at(-1) ?? ''
      if (last.length < minLetters) return
      const others = lexemes.filter((lexeme) => lexeme !== atoms.at(-1) && lexeme !== last)
      const unfinished = [...others.map(quote), `${quote(last)}:*`].join(' & ')
      strict.add(unfinished)
      loose.add(unfinished)
    }
    const add = (atoms: string[], count: number) => {
      if (atoms.length === 0) return
      strict.add(toConjunction(listLexemes(atoms)))
      loose.add(toConjunction(atoms))
      if (token.isLast && token.kind !== 'word') addUnfinished(atoms)
      products += count
    }
    const addKnown = (texts: readonly string[]) => {
      for (const text of texts) {
        const row = byText.get(text)
        if (!row || (isCounted(row) && row.products === null)) continue
        add(row.atoms, row.products ?? productsOfCode)
      }
    }
    addKnown([...listDigitForms(token, query.text), ...listForms(token)])
    if (strict.size === 0) addKnown(token.translations)
    const row = byText.get(token.text)
    if (token.kind === 'word' && row) {
      for (const { word, products: count } of row.beginnings ?? [])
        if (products < maxProductsOfBeginnings) add([word], count)
      const next = query.tokens[index + 1]
      const before = query.tokens[index - 1]
      for (const joined of [next && token.text + next.text, before && before.text + token.text]) {
        const known = joined === undefined ? undefined : byText.get(joined)
        if (known?.products) add([joined ?? ''], known.products)
      }
      if (strict.size === 0) {
        const found = correct(row)
        corrections.set(
          index,
          found.map(({ word }) => word),
        )
        for (const { word, products: count } of found) add([word], count)
        if (row.split) {
          add(row.split, productsOfCode)
          splits.set(index, [row.split.join(' ')])
        }
      }
    }
    if (strict.size === 0) return null
    const isShort = /^\d{1,2}$/.test(token.text)
    const postings = isShort ? Math.max(products, productsOfShortNumber) : products
    return { strict: toAlternatives(strict), loose: toAlternatives(loose), products, postings }
  })
  return {
    tokens,
    query: {
      ...query,
      tokens: query.tokens.map((token, index) => ({
        ...token,
        corrections: corrections.get(index) ?? [],
        synonyms: [...token.synonyms, ...(splits.get(index) ?? [])],
      })),
    },
    weights: tokens.map((terms) => 1 / Math.log(10 + (terms?.products ?? 0))),
  }
}

/** Returns the words that are most likely meant. */
function correct({ text, similar, longer }: WordRow): KnownWord[] {
  const compared = (similar ?? []).map((known) => ({
    ...known,
    distance: compareSounds(text, known.word),
  }))
  const max = text.length >= 8 ? 3 : text.length > 4 ? 2 : 1
  const near = compared.filter(({ distance }) => distance <= max)
  const least = Math.min(...near.map(({ distance }) => distance))
  const best = near
    .filter(
      ({ distance }) =>
        distance < least + 1 && (text.length >= 8 || distance <= Math.max(1, least)),
    )
    .toSorted((a, b) => a.distance - b.distance || b.products - a.products)
    .slice(0, maxCorrections)
  if (least <= 1) return best
  return [...best, ...(longer ?? [])]
}

/** Counts typos; letters that sound alike count half. */
function compareSounds(typed: string, word: string): number {
  const typos = countTypos(typed, word, 3)
  const sound = countTypos(toSound(typed), toSound(word), 3)
  return Math.min(typos, sound + 0.5)
}

/** Returns the texts of a word or code in singular and plural, and those of its synonyms. */
function listForms({ text, synonyms, kind }: QueryToken): string[] {
  const own = kind === 'word' ? listNumberForms(text) : []
  return [...new Set([...own, ...synonyms.flatMap(listNumberForms)])]
}

/** Returns the ways to write the keys of a code or number. */
function listDigitForms(token: QueryToken, text: string): string[] {
  if (token.kind === 'word') return []
  const keys = [...token.keys, ...token.looseKeys]
  const forms =
    token.kind === 'code'
      ? [...keys, text.slice(token.start, token.end)]
      : keys.flatMap(listFormsOfKey)
  return [...new Set(forms)].slice(0, 40)
}

function listFormsOfKey(key: string): string[] {
  if (key.startsWith('~')) return [key.slice(1).replace(/[x-]/g, ' ')]
  const [, thread = '', numbers] =
    /^(m?)((?:\d[\d.+/]*)(?:[xg-][\d.+/]+)*)(?:[?]|[^\d?][^\d]*[23]?)?$/.exec(key) ?? []
  if (numbers === undefined) return [key]
  const isInch = key.endsWith('in')
  let forms = [thread]
  for (const value of numbers.split(/[xg-]/)) {
    const written = listFormsOfValue(value, isInch)
    forms = forms.flatMap((form) => written.map((own) => `${form} ${own}`)).slice(0, 40)
  }
  return forms.map((form) => form.trim())
}

function listFormsOfValue(value: string, isInch: boolean): string[] {
  const [, whole, top, bottom] = /^(?:(\d+)\+)?(\d+)\/(\d+)$/.exec(value) ?? []
  if (top !== undefined) {
    const decimals = String(Number(top) / Number(bottom)).slice(2)
    const written = `${whole ?? ''} ${top} ${bottom}`.trim()
    return isInch ? [written, `${whole ?? 0} ${decimals}`] : [written]
  }
  const [integer = '', decimals] = value.split('.')
  if (decimals !== undefined) {
    const forms = [`${integer} ${decimals}`, `${integer} ${decimals}0`]
    if (integer === '0') forms.push(decimals, `${decimals}0`)
    return forms
  }
  if (integer.length > 3 && integer.length < 8)
    return [integer, `${integer.slice(0, -3)} ${integer.slice(-3)}`]
  return [integer]
}

/** Whether the table of words says how many products have it. */
const isCounted = ({ atoms }: WordRow) =>
  atoms.length === 1 && (atoms[0] ?? '').length >= minLetters && /^\p{L}+$/u.test(atoms[0] ?? '')

const quote = (lexeme: string) => `'${lexeme.replace(/[\\']/g, '\\$&')}'`
const isNumber = (atom: string) => /^[0-9]/.test(atom)
const hasNoBlanks = (atom: string) => /^[\u2e80-\u{10ffff}]/u.test(atom)

const toConjunction = (lexemes: string[]) => [...new Set(lexemes)].map(quote).join(' & ')

/** Returns the atoms, and neighbours as search_lexemes writes them. */
function listLexemes(atoms: string[]): string[] {
  const pairs = atoms.slice(1).flatMap((next, index) => {
    const atom = atoms[index] ?? ''
    if (isNumber(atom) && isNumber(next)) return [`${atom}/${next}`]
    const isPair = isNumber(atom) || isNumber(next) || (hasNoBlanks(atom) && hasNoBlanks(next))
    return isPair ? [atom + next] : []
  })
  return [...atoms, ...pairs]
}

const toAlternatives = (terms: Set<string>) =>
  `(${[...terms].map((term) => `(${term})`).join(' | ')})`
