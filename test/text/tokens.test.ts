// Checks the table of rules by which products and queries are split into words and codes.
import t from 'tap'
import { readText, tokenize, toLookAlike } from '../../src/text/tokens.ts'
import { readCode, readDocumentedTable } from '../support/documented-table.ts'

/** A name of a product, and queries that must find it by words and codes alone. */
const found: [name: string, ...queries: string[]][] = [
  ['Tornillo DIN-912 M8x1,25x25', 'DIN 912', 'din912', 'M8 x 1.25', 'm8x1,25x25', '8x1.25', 'M8'],
  ['Tornillo hexagonal M8 × 45', 'M8x45', 'M8*45', 'm8 x 45', '8x45', 'M8X45'],
  ['Varilla 3/4-16 UNF', '3/4-16', '3/4"-16 UNF', '3/4 UNF'],
  ['Varilla 1/4"-20 UNC', '1/4-20 unc'],
  ['Válvula 1.1/2"', '1 1/2"', '1½"', '1-1/2"', '1 1/2 pulgadas', '1.5"', '1 1/2', '1/2'],
  ['Válvula 2½"', '2 1/2"', '2 1/2', "2 1/2''"],
  ['Racor 3/8” BSP', '3/8"', "3/8''", '3/8', '3/8 in'],
  ['Caja IP 65', 'ip65', 'IP 65', 'IP-65'],
  ['Caja IP65', 'ip65', 'IP 65', 'IP-65', 'ip_65'],
  ['Redondo S 235 JR', 'S235JR', 's 235 jr', 'S235', '235JR'],
  ['Cojinete 6204-2RS', '6204 2RS', '6204-2rs', '6204'],
  ['Cojinete 6206ZZ', '6206 ZZ', '6206-ZZ', '6206'],
  ['Casquillo GU 5.3', 'GU5.3', 'GU5,3', 'gu 5,3'],
  ['Disyuntor GV2ME14', 'gv2-me14', 'GV2 ME14', 'gv2me14'],
  ['Taladro GSB.18V-55', 'GSB18V-55', 'gsb 18v-55', 'gsb 18v', 'gsb 18'],
  ['Latiguillo Cat 6A', 'CAT6A', 'cat.6a'],
  ['Funda Ø63mm', '63 mm', 'ø63', '⌀ 63 mm', 'diametro 63', '63'],
  ['Lijado n.º 180', 'nº 180', 'n° 180', 'no. 180', '180'],
  ['Codo 90º', '90°', '90 grados', '90'],
  ['Termómetro -10/+50ºC', '-10/+50', '50 °C', '50 c'],
  ['Cable 2,5 mm²', '2.5mm2', '2,50 mm2', '2.5', '2,5 mm²'],
  ['Manguera 3G1,5 mm²', '3 G 1,5', '3g1.5', '3g1,5 mm2'],
  ['Chapa .8 mm', '0,8mm', '0.80 mm', '.8'],
  ['Condensador 4.7 μF', '4,7µF', '4.7uF', '4,7 uf'],
  ['Shunt 22kΩ', '22 k', '22 kohm', '22kΩ'],
  ['Depósito 1.000 L', '1000 l', '1.000 l', '1000'],
  ['Depósito 3 000 l', '3000 l', '3.000l'],
  ['Transformador 12/24V', '24V', '12 v', '12/24 V'],
  ['Abrazadera 10/16 mm', '10-16', '10 16', '16 mm'],
  ['Malla 50*50*4', '50x50x4', '50 x 50', '50×50×4 mm'],
  ['Estor 100 cm x 150 cm', '100x150', '100 x 150 cm'],
  ['Magnetotérmico 1P+N C16', '1p+n', 'c16', 'C-16'],
  ['Manual C++', 'c++'],
  ['Kit ① Ⅱ', '1', 'ii'],
  ['Junta O-Ring', 'o-ring', 'o ring', 'oring'],
  ["Filtre d'oli", 'oli', "d'oli", 'd’oli', 'doli'],
  ['Straßenbeleuchtung Größe', 'strassenbeleuchtung', 'grosse', 'groesse', 'größe'],
  ['Łukasz Złączka đai ðvottur Œillet', 'lukasz zlaczka', 'dai', 'dvottur', 'oeillet'],
  ['Desatas\u00adcador\u200btuberías', 'desatascador tuberias'],
  ['Sierra\u00a0de\u202fcalar', 'sierra de calar'],
  ['ステンレスねじ', 'ねじ', 'ネジ', 'ｽﾃﾝﾚｽ'],
  ['不锈钢六角螺丝', '螺丝', '六角'],
]

/** A name of a product, and queries whose code it does not have. */
const notFound: [name: string, ...queries: string[]][] = [
  ['Caja IP 65', 'IP67', 'IP6', 'P65'],
  ['Perno M8x45', 'M8x40', 'M10x45', 'M6'],
  ['Redondo S275JR', 'S235JR'],
  ['Fleje 12,5 mm', '1.25 mm', '5 mm', '12 mm'],
  ['Funda 63 mm', '63 cm', '6 mm'],
  ['Machón 1/4"', '1 1/4"', '1/2"'],
]

function has(name: string, query: string): boolean {
  const { words, otherWords, codes } = readText(name)
  const allWords = new Set([...words.map(({ text }) => text), ...otherWords])
  const allCodes = new Set(codes.map(({ text }) => text))
  return tokenize(query).every(({ kind, text, keys }) =>
    kind === 'word' ? allWords.has(text) : keys.some((key) => allCodes.has(key)),
  )
}

t.test('A query finds a name in which words and codes are written differently', (t) => {
  for (const [name, ...queries] of found)
    for (const query of queries) t.ok(has(name, query), `${query} finds ${name}`)
  t.end()
})

t.test('A query does not find a name with another code', (t) => {
  for (const [name, ...queries] of notFound)
    for (const query of queries) t.notOk(has(name, query), `${query} does not find ${name}`)
  t.end()
})

t.test('The table of docs/architecture.md holds', (t) => {
  for (const [name = '', same = '', other = ''] of readDocumentedTable('in a name')) {
    const [own = ''] = readCode(name)
    t.ok(readCode(same).length > 0)
    for (const query of [own, ...readCode(same)]) t.ok(has(own, query), `${query} finds ${own}`)
    for (const query of readCode(other)) t.notOk(has(own, query), `${query} does not find ${own}`)
  }
  t.end()
})

t.test('Tokens and words have their positions in the original text', (t) => {
  const name = 'Ø63mm ﬁltro ½ Größe 13'
  const texts = tokenize(name).map(({ start, end }) => name.slice(start, end))
  t.same(texts, ['63mm', 'ﬁltro', '½', 'Größe', '13'])
  const { words } = readText('Łukasz a\u0301rbol')
  t.same(
    words.map(({ start, end }) => [start, end]),
    [
      [0, 6],
      [7, 13],
    ],
  )
  t.end()
})

t.test('Letters and digits are taken for each other', (t) => {
  t.equal(toLookAlike('oxbo1il5s'), '0xb011155')
  t.end()
})
