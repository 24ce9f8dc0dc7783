// Sizes as people write them, brought to one form on both sides: "18 V", "18-Volt" and "18 voltios" are 18v, "2 in. x 4 in. x 8 ft." is 2x4x8.

/** Units by the form in which they are indexed, and every way of writing them. Editable; a rebuild of the index makes it count. */
const spellings: Record<string, string> = {
  v: 'v volt volts voltio voltios vdc',
  w: 'w watt watts vatio vatios',
  kw: 'kw kilovatio kilovatios kilowatt kilowatts',
  a: 'a amp amps ampere amperes amperio amperios',
  ah: 'ah',
  hz: 'hz hertz hercios',
  hp: 'hp horsepower cv',
  psi: 'psi',
  bar: 'bar bares',
  mm: 'mm milimetro milimetros millimeter millimeters millimetre millimetres',
  cm: 'cm centimetro centimetros centimeter centimeters centimetre centimetres',
  m: 'm mt mts metro metros meter meters metre metres',
  in: 'in inch inches pulgada pulgadas pulg " ″ ”',
  ft: "ft foot feet pie pies ' ′",
  yd: 'yd yard yards yarda yardas',
  mg: 'mg miligramo miligramos milligram milligrams',
  g: 'g gr grs gramo gramos gram grams',
  kg: 'kg kgs kilo kilos kilogramo kilogramos kilogram kilograms',
  lb: 'lb lbs pound pounds libra libras',
  oz: 'oz ounce ounces onza onzas',
  ml: 'ml mililitro mililitros milliliter milliliters millilitre millilitres',
  l: 'l lt lts litro litros liter liters litre litres',
  gal: 'gal gals gallon gallons galon galones',
}
const unitOf = new Map(
  Object.entries(spellings).flatMap(([unit, written]) =>
    written.split(' ').map((word) => [word, unit]),
  ),
)

const number = String.raw`(?:\d+/\d+|\d+(?:[.,]\d+)?)`
const unit = [...unitOf.keys()].toSorted((a, b) => b.length - a.length).join('|')
const amount = String.raw`(${number})(?:[\s-]*(${unit})\.?(?![\p{L}\d]))?`
// Looked for where a number begins and nowhere else: as one expression over the whole text they took a third of the time of reading a catalogue.
const beginning = /(?<![\p{L}\d.,/])\d/gu
const written = new RegExp(String.raw`${amount}(?:\s*[x×]\s*${amount})*`, 'iuy')
const part = new RegExp(amount, 'giu')

export type Size = { start: number; length: number; forms: string[]; complete: boolean }

/**
 * Every size in a text, where it stands and the forms it is found by; dimensions also by each run of them, so that 2x4 finds 2x4x8. `complete`
 * tells whether its unit was written out, and so is surely no beginning of another word.
 */
export function findSizes(text: string): Size[] {
  return writtenSizes(foldKeepingLength(text)).flatMap((match) => {
    const numbers = match[3] === undefined ? [match] : [...match[0].matchAll(part)]
    const parts = numbers.map(([, value = '', name]) => ({
      value: value.replace(',', '.'),
      name: name?.toLowerCase(),
    }))
    const [first] = parts
    if (!first || (parts.length === 1 && first.name === undefined)) return []
    const measure = `${first.value}${unitOf.get(first.name ?? '') ?? ''}`
    return {
      start: match.index,
      length: match[0].length,
      forms: parts.length === 1 ? [measure] : runs(parts.map(({ value }) => value)),
      complete: parts.length > 1 || (first.name ?? '').length >= 4,
    }
  })
}

function writtenSizes(text: string): RegExpExecArray[] {
  const found: RegExpExecArray[] = []
  beginning.lastIndex = 0
  for (let start = beginning.exec(text); start; start = beginning.exec(text)) {
    written.lastIndex = start.index
    const match = written.exec(text)
    if (!match) continue
    found.push(match)
    beginning.lastIndex = written.lastIndex
  }
  return found
}

/** All forms of all sizes in a product's name. */
export function sizeForms(name: string): string[] {
  return [...new Set(findSizes(name).flatMap(({ forms }) => forms))]
}

/**
 * What was typed, with its sizes in the indexed form, and these forms. A size still being typed ("5 a" may become "5 agujas") stays as it is in the
 * text.
 */
export function withGluedSizes(text: string): { text: string; forms: string[] } {
  const forms: string[] = []
  let glued = ''
  let after = 0
  for (const {
    start,
    length,
    forms: [form = ''],
    complete,
  } of findSizes(text)) {
    forms.push(form)
    if (!complete && start + length >= text.length) continue
    glued += text.slice(after, start) + form
    after = start + length
  }
  return { text: glued + text.slice(after), forms }
}

/** The longest first: 2x4x8, then 2x4 and 4x8. */
function runs(values: string[]): string[] {
  const found: string[] = []
  for (let size = values.length; size >= 2; size--) {
    for (let start = 0; start + size <= values.length; start++)
      found.push(values.slice(start, start + size).join('x'))
  }
  return found
}

/** Lower case and without accents, every character in its place. */
function foldKeepingLength(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (character) => {
    const plain = character.normalize('NFD')[0] ?? character
    return plain.length === character.length ? plain : character
  })
}
