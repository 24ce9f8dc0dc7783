// Finds SKUs in order lines: "85123A x 10", "10 uds AB-25", "22423 a 12,50 €", pasted rows.
import { normalizeText } from './normalize.ts'
import { toFoldedCodeKey, toSkuKey } from './sku-keys.ts'

/** A SKU that a line may have, and what stands beside it. */
export type SkuGuess = {
  keys: string[]
  /** As typed. Empty if the SKU is the whole line. */
  ignored: string
}

const maxLines = 20
/** More pieces are a name. */
const maxPieces = 9
const maxPiecesOfSku = 5
const minKeyLength = 3
/** Separates lines and columns. */
const lineSeparators = /[;\n\r\t]+/
const piecePattern = /[^\s]+/g
/** Quantities, units, prices and the words around them, of a normalised text without blanks. */
const quantity =
  /^(?:[x*]?[\d.,]+[x*]?|[x*=@]|a|at|de|por|ref|art|sku|cod|codigo|cant|cantidad|qty|precio|euros?|eur|usd|gbp|uds?|unid|unidad|unidades|und|pcs?|pzas?|piezas?|pieces?|stk|cajas?|m|mts?|metros?|kgs?|kilos?|l|lts?|litros?|c\/u|[\d.,]+(?:eur|euros?|uds?|ud|pcs?|m|kg|l))$/
const signsAround = /^[(["'#:.,\-–]+|[)\]"':.,\-–]+$/g
const currencySigns = /[€$£]/g

/** Returns for each line of the text the SKUs that it may have, the longest first. */
export function readOrderLines(text: string): SkuGuess[][] {
  const lines = text.split(lineSeparators).map((line) => line.trim())
  const isTable = lines.length > 1
  return lines
    .slice(0, maxLines)
    .map((line) => readLine(line, isTable))
    .filter((guesses) => guesses.length > 0)
}

function readLine(line: string, isTable: boolean): SkuGuess[] {
  const pieces = [...line.matchAll(piecePattern)].map(({ 0: text, index }) => ({
    text,
    start: index,
    end: index + text.length,
  }))
  if (pieces.length === 0 || pieces.length > maxPieces) return []
  const isQuantity = pieces.map(({ text }) => isPartOfQuantity(text))
  const guesses: SkuGuess[] = []
  for (let count = Math.min(pieces.length, maxPiecesOfSku); count > 0; count--)
    for (let first = 0; first + count <= pieces.length; first++) {
      const isAlone = count === pieces.length
      if (isAlone && !isTable) continue
      const others = isQuantity.filter((_, index) => index < first || index >= first + count)
      if (!others.every(Boolean)) continue
      const [from, to] = [pieces[first]?.start ?? 0, pieces[first + count - 1]?.end ?? 0]
      const sku = line.slice(from, to).replace(/[:,;]+$/, '')
      const rest = `${line.slice(0, from)} ${line.slice(to)}`.replace(/\s+/g, ' ').trim()
      const keys = [...new Set([toSkuKey(sku), toFoldedCodeKey(sku)])]
      if (mayBeSku(keys[0] ?? '', rest, isTable)) guesses.push({ keys, ignored: rest })
    }
  return guesses
}

function isPartOfQuantity(piece: string): boolean {
  const bare = normalizeText(piece).text.replace(currencySigns, '').replace(signsAround, '')
  return bare === '' || quantity.test(bare)
}

/** A short number beside other numbers is a size: "2 1/2". */
function mayBeSku(key: string, rest: string, isTable: boolean): boolean {
  if (key.length < minKeyLength) return false
  if (!/\d/.test(key)) return isTable || key.length > minKeyLength
  const isShortNumber = /^\d{1,3}$/.test(key)
  return !isShortNumber || isTable || /[^\d\s/.,]/.test(rest)
}
