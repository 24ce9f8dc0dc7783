// Words that people and programs write for statuses, lines and units, by what they mean.
import { quoteStatuses } from '../database/quote-statuses.ts'

/** Statuses of quotes as people and programs write them, in lower case and without accents. */
export const statusWords: Record<string, string> = Object.assign(
  {},
  ...Object.entries(quoteStatuses).map(([status, { words = status }]) => listWords(status, words)),
)

/** Kinds of lines, also as Odoo writes them. */
export const lineKindWords: Record<string, string> = {
  ...listWords('line', 'linea articulo producto product item'),
  ...listWords('optional', 'opcional alternativa'),
  ...listWords('heading', 'section seccion capitulo titulo encabezado'),
  ...listWords('text', 'texto nota note comentario comment'),
  'line section': 'heading',
  'line note': 'text',
}

/** Codes of UN/ECE Recommendation 20 by the words for them, in lower case and without accents. */
export const unitWords: Record<string, string> = {
  ...listWords('C62', 'u un und unid unidad unidades ud uds uni unit units piece pieces pc pcs'),
  ...listWords('C62', 'pza pzas pieza piezas stk stuck ea each pz'),
  ...listWords('KGM', 'kg kgs kilo kilos kilogramo kilogramos kilogram kilograms'),
  ...listWords('GRM', 'g gr grs gramo gramos gram grams'),
  ...listWords('TNE', 't tm ton tonelada toneladas tonne tonnes'),
  ...listWords('LTR', 'l lt lts ltr litro litros litre litres liter liters'),
  ...listWords('MTR', 'm mt mts mtr metro metros metre metres meter meters'),
  ...listWords('CMT', 'cm centimetro centimetros'),
  ...listWords('MMT', 'mm milimetro milimetros'),
  ...listWords('MTK', 'm2 mtk'),
  ...listWords('MTQ', 'm3 mtq'),
  ...listWords('HUR', 'h hr hrs hora horas hour hours'),
  ...listWords('DAY', 'd dia dias day days'),
  ...listWords('MON', 'mes meses month months'),
  ...listWords('PR', 'par pares pair pairs'),
  ...listWords('SET', 'set sets juego juegos jgo kit kits'),
  ...listWords('BX', 'caja cajas cj box boxes'),
  ...listWords('PK', 'paq paquete paquetes pack packs pkg'),
  ...listWords('RO', 'rollo rollos roll rolls rl'),
  ...listWords('BG', 'bolsa bolsas bag bags saco sacos'),
  ...listWords('DZN', 'docena docenas dozen doc'),
  ...listWords('MIL', 'millar millares thousand'),
}

/** Codes that are known besides those of `unitWords`. Another one may be a mistake. */
export const knownUnits = new Set([
  ...Object.values(unitWords),
  ...'EA H87 NMP ST CT PF PX BE BJ BO BA CN CA CR CS DR TU TB SA SH LEF NAR NPR PA PL RL'.split(
    ' ',
  ),
  ...'MGM LBR ONZ DTN CLT MLT DLT HLT GLL PTI KMT INH FOT YRD CMK MMK FTK YDK INK HAR'.split(' '),
  ...'CMQ MMQ FTQ INQ MIN SEC ANN WEE KWH MWH WTT KWT MAW AMP VLT P1 E48 LS ZZ XPX XPK'.split(' '),
])

function listWords(value: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map((word) => [word, value]))
}

/** Returns a name for comparisons: in lower case, with single blanks for accents and signs. */
export function foldName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}º]+/gu, ' ')
    .trim()
}
