// Trade words that mean the same, in Spanish and English, as synonyms for the search engine.
//
// Edit the list freely. Each line is one group of words or phrases without accents. The indexer
// rebuilds the index when it starts after a change. Keep the list short: the engine reads all of it
// for each search, which costs about 1 ms per 1,000 words. For the same reason plurals are a field
// of the documents (plurals.ts): 15,000 of them as synonyms made a search ten times slower.
import { guessPlurals } from './plurals.ts'

const synonymGroups: readonly (readonly string[])[] = [
  // Tools
  ['destornillador', 'desarmador', 'atornillador', 'screwdriver'],
  ['llave inglesa', 'llave ajustable', 'llave francesa', 'adjustable wrench', 'adjustable spanner'],
  ['wrench', 'spanner'],
  ['alicates', 'pinzas', 'pliers'],
  ['taladro', 'taladradora', 'drill'],
  ['broca', 'mecha', 'drill bit'],
  ['amoladora', 'esmeriladora', 'radial', 'angle grinder'],
  ['sierra', 'serrucho', 'saw'],
  ['martillo', 'hammer'],
  ['cinta metrica', 'flexometro', 'metro enrollable', 'tape measure'],
  ['escalera', 'ladder'],
  ['carretilla', 'wheelbarrow'],
  ['pala', 'shovel', 'spade'],
  // Fixings
  ['tornillo', 'screw'],
  ['perno', 'bolt'],
  ['tuerca', 'nut'],
  ['arandela', 'rondana', 'washer'],
  ['clavo', 'puntilla', 'nail'],
  ['taco', 'tarugo', 'ramplug', 'wall plug'],
  ['brida', 'precinto', 'cincho', 'cable tie', 'zip tie'],
  ['bisagra', 'gozne', 'hinge'],
  ['cerradura', 'chapa', 'lock'],
  ['candado', 'padlock'],
  // Water and heat
  ['grifo', 'canilla', 'llave de agua', 'pila de agua', 'tap', 'faucet'],
  ['llave de paso', 'valvula de corte', 'shutoff valve', 'stopcock'],
  ['tuberia', 'caneria', 'tubo', 'pipe'],
  ['manguera', 'hose'],
  ['fregadero', 'pileta', 'sink'],
  ['inodoro', 'retrete', 'sanitario', 'toilet'],
  ['ducha', 'regadera', 'shower'],
  ['calentador', 'termo', 'boiler', 'water heater'],
  // Electricity
  ['enchufe', 'tomacorriente', 'toma de corriente', 'outlet', 'receptacle', 'socket'],
  ['interruptor', 'apagador', 'switch'],
  ['bombilla', 'foco', 'bombillo', 'ampolleta', 'lampara led', 'light bulb', 'bulb'],
  ['pila', 'bateria', 'battery'],
  ['alargador', 'prolongador', 'extension electrica', 'extension cord'],
  ['linterna', 'flashlight', 'torch'],
  // Home and office
  ['ordenador', 'computadora', 'computador', 'computer'],
  ['portatil', 'laptop', 'notebook'],
  ['movil', 'celular', 'telefono movil', 'mobile phone', 'cell phone'],
  ['boligrafo', 'lapicero', 'pen'],
  ['nevera', 'frigorifico', 'refrigerador', 'heladera', 'refrigerator', 'fridge'],
  ['lavadora', 'lavarropas', 'washing machine'],
  ['aspiradora', 'aspirador', 'vacuum cleaner'],
  ['aire acondicionado', 'ac unit', 'air conditioner'],
  ['cesped', 'grama', 'lawn'],
  ['cortacesped', 'cortadora de cesped', 'lawn mower'],
  ['couch', 'sofa'],
  ['trash can', 'garbage can', 'cubo de basura', 'bote de basura'],
  ['pintura', 'paint'],
  ['cemento', 'cement'],
  ['madera', 'wood', 'lumber'],
  ['guantes', 'gloves'],
  // Abbreviations and spelling variants
  ['in', 'inch', 'inches', 'pulgada', 'pulgadas'],
  ['ft', 'foot', 'feet'],
  ['gal', 'gallon', 'gallons'],
  ['lb', 'lbs', 'pound', 'pounds'],
  ['oz', 'ounce', 'ounces'],
  ['sq', 'square'],
  ['grey', 'gray'],
  ['colour', 'color'],
  ['aluminium', 'aluminum'],
  ['stainless steel', 'acero inoxidable', 'inox'],
  ['set', 'kit', 'juego'],
]

/** Maps every word of a group, and the likeliest plural of a single word, to the group's others. */
export const synonyms: Record<string, string[]> = mapSynonyms(synonymGroups)

function mapSynonyms(groups: readonly (readonly string[])[]): Record<string, string[]> {
  const synonymsByWord = new Map<string, Set<string>>()
  for (const group of groups) {
    for (const word of group) {
      const others = group.filter((other) => other !== word)
      const hasPlural = !word.includes(' ') && word.length >= 4
      for (const form of [word, ...(hasPlural ? guessPlurals(word).slice(0, 1) : [])])
        synonymsByWord.set(form, new Set([...(synonymsByWord.get(form) ?? []), ...others]))
    }
  }
  return Object.fromEntries([...synonymsByWord].map(([word, others]) => [word, [...others]]))
}
