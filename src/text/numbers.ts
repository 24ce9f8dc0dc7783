// Reads the amounts of a normalised text: numbers with units, dimensions, threads, fractions and
// ranges.

/** Every spelling of a unit, by the form in which the unit is compared. */
const unitSpellings: Record<string, string> = {
  v: 'v volt volts voltio voltios vdc vac vcc',
  kv: 'kv',
  w: 'w watt watts vatio vatios',
  kw: 'kw kilovatio kilovatios kilowatt kilowatts',
  va: 'va',
  kva: 'kva',
  a: 'a amp amps ampere amperes amperio amperios',
  ma: 'ma',
  ka: 'ka',
  ah: 'ah',
  mah: 'mah',
  hz: 'hz hertz hercios',
  khz: 'khz',
  mhz: 'mhz',
  hp: 'hp horsepower cv',
  psi: 'psi',
  bar: 'bar bares',
  rpm: 'rpm',
  nm: 'nm',
  uf: 'uf μf microfaradios',
  nf: 'nf',
  pf: 'pf',
  um: 'um μm micras',
  ohm: 'ohm ohms ohmio ohmios ω',
  k: 'k kω kohm kohms kelvin',
  mohm: 'mω mohm',
  '°': '° grados grado deg degrees',
  '°c': '°c c',
  '°f': '°f',
  '%': '%',
  mm: 'mm milimetro milimetros millimeter millimeters millimetre millimetres',
  mm2: 'mm2',
  cm: 'cm centimetro centimetros centimeter centimeters centimetre centimetres',
  cm2: 'cm2',
  cm3: 'cm3 cc',
  m: 'm mt mts metro metros meter meters metre metres',
  m2: 'm2',
  m3: 'm3',
  km: 'km',
  in: 'in inch inches pulgada pulgadas pulg "',
  ft: "ft foot feet pie pies '",
  yd: 'yd yard yards yarda yardas',
  mg: 'mg miligramo miligramos milligram milligrams',
  g: 'g gr grs gramo gramos gram grams',
  kg: 'kg kgs kilo kilos kilogramo kilogramos kilogram kilograms',
  t: 't tn ton toneladas',
  lb: 'lb lbs pound pounds libra libras',
  oz: 'oz ounce ounces onza onzas',
  ml: 'ml mililitro mililitros milliliter milliliters millilitre millilitres',
  cl: 'cl',
  l: 'l lt lts litro litros liter liters litre litres',
  gal: 'gal gals gallon gallons galon galones',
  u: 'u',
  ud: 'ud uds unid unidad unidades pcs pc pieza piezas piece pieces pack',
}
const unitBySpelling = new Map(
  Object.entries(unitSpellings).flatMap(([unit, spellings]) =>
    spellings.split(' ').map((spelling) => [spelling, unit] as const),
  ),
)
unitBySpelling.set('° c', '°c')
/** Longer spellings are tried first: "mm2" before "mm" before "m". */
const unitPattern = [...unitBySpelling.keys()].toSorted((a, b) => b.length - a.length).join('|')
const unitAfterNumber = new RegExp(String.raw`[\s-]?(${unitPattern})\.?(?![\p{L}\d])`, 'uy')

/** The first digit or decimal sign of a number, or the M of a thread. */
const amountStart = /(?<![\p{L}\d]|\d[.,])(?:m(?=\d)|\d|[.,](?=\d))/gu
const mixedFraction = /(\d{1,3})(?: |\.|-)(\d{1,2})\/(\d{1,2})(?![\d/])/y
const fraction = /(\d{1,2})\/(\d{1,2})(?![\d/])/y
const decimal = /\d+(?:[.,]\d+)?|[.,]\d+/y
const thousandsWithBlank = /\d{1,3}(?: \d{3})+(?![\d.,])/y
const timesSign = /\.?\s*x\s*(?=[\d.,])/y
/** "3G1,5" is a cable with three wires, one of them the earth. */
const earthSign = /\s?g\s?(?=[\d.,])/y
const rangeSign = /[-/][+-]?(?=\d)/y
const denominators = new Set([2, 4, 8, 16, 32, 64])
const maxDimensions = 4

export type Amount = {
  start: number
  end: number
  /** Whether it has several numbers, or a fraction. */
  isSize: boolean
  /** Whether the letters and digits, without separators, may be a code too: "18V-55". */
  mayBeCode: boolean
  /** The most exact key first. A query asks for one of them. */
  keys: string[]
  /** The number without its unit. */
  bareKeys: string[]
  /** Further keys of a product, by which parts of the amount are found. */
  partKeys: string[]
  /** Further keys that a query may accept, because they are nearly the same. */
  looseKeys: string[]
}

type AmountKeys = Omit<Amount, 'start' | 'end' | 'mayBeCode'>

/** A number: its forms, of which "2.700" has two, and its unit. */
type Quantity = { values: string[]; unit: string; parts: string[]; end: number }

/** Returns the amounts of a text in their order. */
export function readAmounts(text: string): Amount[] {
  const amounts: Amount[] = []
  if (!/\d/.test(text)) return amounts
  amountStart.lastIndex = 0
  for (let match = amountStart.exec(text); match; match = amountStart.exec(text)) {
    const amount = readAmount(text, match.index)
    if (!amount) continue
    amounts.push(amount)
    amountStart.lastIndex = Math.max(amount.end, match.index + 1)
  }
  return amounts
}

function readAmount(text: string, start: number): Amount | null {
  const isThread = text[start] === 'm'
  const first = readQuantity(text, start + (isThread ? 1 : 0))
  if (!first) return null
  const quantities = [first]
  let sign = ''
  let { end } = first
  while (quantities.length < maxDimensions) {
    const found = matchSign(text, end, sign)
    if (!found) break
    const next = readQuantity(text, found.end)
    if (!next) break
    quantities.push(next)
    sign = found.sign
    ;({ end } = next)
  }
  // The number goes on as a code: "6204zz", "1.2.3", "6204-2rs".
  if (/^(?:[\p{L}\d]|[-./_+][\p{L}\d])/u.test(text.slice(end, end + 2)) && !isRangeOf(text, end))
    return null
  const position = { start, end, mayBeCode: quantities.length > 1 || isThread }
  if (quantities.length === 1 && !isThread) return { ...position, ...toNumberKeys(first) }
  return { ...position, ...toSizeKeys(quantities, sign, isThread) }
}

/** A number may be followed by a fraction of words: "16/word". */
const isRangeOf = (text: string, end: number) =>
  /^[/.] ?\p{L}{3}/u.test(text.slice(end, end + 5)) || /^\.\p{L}/u.test(text.slice(end, end + 2))

function matchSign(
  text: string,
  position: number,
  previous: string,
): { sign: string; end: number } | null {
  for (const [pattern, sign] of [
    [timesSign, 'x'],
    [earthSign, 'g'],
    [rangeSign, '-'],
  ] as const) {
    if (previous !== '' && previous !== sign) continue
    pattern.lastIndex = position
    if (pattern.exec(text)) return { sign, end: pattern.lastIndex }
  }
  return null
}

function readQuantity(text: string, start: number): Quantity | null {
  const number = readFraction(text, start) ?? readDecimal(text, start)
  if (!number) return null
  unitAfterNumber.lastIndex = number.end
  const unit = unitAfterNumber.exec(text)
  // "3 g 1,5" is no weight.
  earthSign.lastIndex = number.end
  if (!unit || earthSign.test(text)) return { ...number, unit: '' }
  const name = unitBySpelling.get(unit[1] ?? '') ?? ''
  const values = name === 'in' ? number.values.map(toInchFraction) : number.values
  const hasPoint = unit[0].endsWith('.')
  return { ...number, values, unit: name, end: unitAfterNumber.lastIndex - (hasPoint ? 1 : 0) }
}

function readFraction(text: string, start: number): Omit<Quantity, 'unit'> | null {
  mixedFraction.lastIndex = start
  const mixed = mixedFraction.exec(text)
  if (mixed) {
    const [, whole = '', top = '', bottom = ''] = mixed
    if (isFraction(top, bottom)) {
      const value = `${top}/${bottom}`
      return { values: [`${whole}+${value}`], parts: [value], end: mixedFraction.lastIndex }
    }
  }
  fraction.lastIndex = start
  const [, top = '', bottom = ''] = fraction.exec(text) ?? []
  if (!isFraction(top, bottom)) return null
  const end = start + top.length + bottom.length + 1
  return { values: [`${top}/${bottom}`], parts: [], end }
}

function isFraction(top: string, bottom: string): boolean {
  return Number(top) % 2 === 1 && Number(top) < Number(bottom) && denominators.has(Number(bottom))
}

function readDecimal(text: string, start: number): Omit<Quantity, 'unit'> | null {
  thousandsWithBlank.lastIndex = start
  const grouped = thousandsWithBlank.exec(text)
  decimal.lastIndex = start
  const [number] = decimal.exec(text) ?? []
  if (number === undefined) return null
  if (grouped) {
    const value = grouped[0].replaceAll(' ', '')
    unitAfterNumber.lastIndex = start + grouped[0].length
    if (unitAfterNumber.test(text))
      return { values: [value], parts: [], end: start + grouped[0].length }
  }
  return { values: toValues(number), parts: [], end: start + number.length }
}

/** Returns the values that a number may mean: "2.700" is 2700 or 2.7. */
function toValues(number: string): string[] {
  const [whole = '', rest] = number.split(/[.,]/)
  if (rest === undefined) return [whole]
  const digits = rest.replace(/0+$/, '')
  const exact = `${whole === '' ? '0' : whole}${digits === '' ? '' : `.${digits}`}`
  const isThousands = rest.length === 3 && /^[1-9]\d{0,2}$/.test(whole)
  return isThousands ? [`${whole}${rest}`, exact] : [exact]
}

/** Inches are written as fractions: 1.5 is 1 1/2. */
function toInchFraction(value: string): string {
  if (!/^\d+\.\d+$/.test(value)) return value
  const sixteenths = Number(value) * 16
  if (!Number.isInteger(sixteenths)) return value
  let [top, bottom] = [sixteenths % 16, 16]
  while (top % 2 === 0 && top > 0) [top, bottom] = [top / 2, bottom / 2]
  const whole = Math.floor(sixteenths / 16)
  return whole === 0 ? `${top}/${bottom}` : `${whole}+${top}/${bottom}`
}

/** The number without a unit ends with a question mark, so that any unit finds it. */
function toNumberKeys({ values, unit, parts }: Quantity): AmountKeys {
  const isSize = values.some((value) => value.includes('/'))
  if (unit === '')
    return {
      isSize,
      keys: values,
      bareKeys: values.map((value) => `${value}?`),
      partKeys: parts,
      looseKeys: [],
    }
  const withUnit = values.map((value) => `${value}${unit}`)
  const looseUnits = unit === 'mm2' ? values.map((value) => `${value}mm`) : []
  return {
    isSize,
    keys: withUnit,
    bareKeys: values,
    partKeys: [...looseUnits, ...parts],
    looseKeys: values.map((value) => `${value}?`),
  }
}

function toSizeKeys(quantities: Quantity[], sign: string, isThread: boolean): AmountKeys {
  const values = quantities.map(({ values: [value = ''] }) => value)
  const thread = isThread ? 'm' : ''
  const joined = values.join(sign)
  const keys = [`${thread}${joined}`]
  const partKeys: string[] = isThread ? [`m${values[0]}`, joined] : []
  for (let count = values.length - 1; count >= 2; count--)
    for (let first = 0; first + count <= values.length; first++) {
      const part = values.slice(first, first + count).join(sign)
      partKeys.push(part)
      if (isThread && first === 0) partKeys.push(`m${part}`)
    }
  const lastUnit = quantities.at(-1)?.unit ?? ''
  for (const { values: own, unit, parts } of quantities) {
    partKeys.push(...own, ...parts)
    const shared = unit || (sign === '-' ? lastUnit : '')
    if (shared !== '') partKeys.push(...own.map((value) => `${value}${shared}`))
  }
  const turned = `~${values.toSorted().join(sign)}`
  const isTurnable = !isThread && sign === 'x'
  return {
    isSize: true,
    keys,
    bareKeys: [],
    partKeys: isTurnable ? [...partKeys, turned] : partKeys,
    looseKeys: isTurnable ? [turned] : [],
  }
}
