// The spellings of units that search knows: "V", "Volt" and "voltios" are the same unit.

/**
 * Every spelling of a unit, by the form in which the unit is indexed. Edit freely; a change takes
 * effect when the index is rebuilt.
 */
const unitSpellings: Record<string, string> = {
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

/** The indexed form of a unit by each of its spellings. */
export const unitBySpelling = new Map(
  Object.entries(unitSpellings).flatMap(([unit, spellings]) =>
    spellings.split(' ').map((spelling) => [spelling, unit]),
  ),
)
