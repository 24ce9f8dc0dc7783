// The catalogues for measuring search: the Spanish procurement vocabulary of the EU, and a larger
// one generated from its words and those of Online Retail. demo/NOTICE.md describes their origin.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { listRetailProducts, readInvoiceLines } from '../../demo/online-retail.ts'
import { type Random, seeded } from './seeded-random.ts'

export type Product = { sku: string; name: string; category: string | null }

const demo = join(import.meta.dirname, '../../../demo')

type CpvRow = { code: string; name_es: string; name_en: string }

function readCpv(): CpvRow[] {
  return parse(gunzipSync(readFileSync(join(demo, 'cpv.csv.gz'))), { columns: true }) as CpvRow[]
}

/** The 9,454 entries of the vocabulary with their Spanish names. The code is the SKU. */
export function spanishCatalogue(): Product[] {
  return readCpv().map(({ code, name_es }) => ({ sku: code, name: name_es, category: null }))
}

/**
 * `count` products with names in Spanish and English words, such as "Tornillos de acero vintage red
 * 18 V"; the same ones for the same seed.
 */
export async function crossedCatalogue(count: number, seed = 'titles'): Promise<Product[]> {
  const random = seeded(seed)
  const cpv = readCpv()
  const retailProducts = listRetailProducts(await readInvoiceLines())
  return Array.from({ length: count }, (_, n) => {
    const entry = random.pick(cpv)
    const phrase = random.next() < 0.7 ? entry.name_es : entry.name_en
    const words = phrase.split(/\s+/).slice(0, 2 + random.below(4))
    const other = random.pick(retailProducts).name.toLowerCase().split(/\s+/)
    const start = random.below(Math.max(1, other.length - 2))
    const size = random.next() < 0.3 ? drawSize(random) : []
    return {
      sku: drawSku(n, random),
      name: [...words, ...other.slice(start, start + 2 + random.below(2)), ...size].join(' '),
      category: (entry.name_es.split(/[ ,]/)[0] ?? '').slice(0, 200) || null,
    }
  })
}

function drawSize(random: Random): string[] {
  const number = () => String(1 + random.below(48))
  return random.pick([
    () => [number(), random.pick(['V', 'W', 'mm', 'cm', 'kg', 'l'])],
    () => [number() + random.pick(['V', 'mm', 'in'])],
    () => [number(), 'x', number()],
    () => [`${number()}x${number()}x${number()}`],
  ])()
}

function drawSku(n: number, random: Random): string {
  const letters = Array.from({ length: 2 }, () => String.fromCharCode(65 + random.below(26))).join(
    '',
  )
  return `${letters}-${String(n).padStart(5, '0')}-${String.fromCharCode(65 + random.below(26))}`
}
