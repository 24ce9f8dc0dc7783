// Symbols and names of the units of measure by their UN/ECE code.
// Codes that start with X are packages of Recommendation 21, the others are of Recommendation 20.
import type { Language } from '../quote-texts/quote-texts.ts'

const symbols = new Map(
  Object.entries({
    MGM: 'mg',
    GRM: 'g',
    KGM: 'kg',
    TNE: 't',
    LBR: 'lb',
    ONZ: 'oz',
    MMT: 'mm',
    CMT: 'cm',
    MTR: 'm',
    KMT: 'km',
    INH: 'in',
    FOT: 'ft',
    CMK: 'cm²',
    MTK: 'm²',
    HAR: 'ha',
    MLT: 'ml',
    CLT: 'cl',
    LTR: 'l',
    HLT: 'hl',
    MTQ: 'm³',
    SEC: 's',
    MIN: 'min',
    HUR: 'h',
    KWT: 'kW',
    KWH: 'kWh',
    P1: '%',
  }),
)

type Names = Record<Language, [singular: string, plural: string]>
const piece: Names = { es: ['ud.', 'uds.'], en: ['pc', 'pcs'] }
const set: Names = { es: ['juego', 'juegos'], en: ['set', 'sets'] }
const pack: Names = { es: ['paquete', 'paquetes'], en: ['pack', 'packs'] }
const box: Names = { es: ['caja', 'cajas'], en: ['box', 'boxes'] }
const pallet: Names = { es: ['palé', 'palés'], en: ['pallet', 'pallets'] }
const roll: Names = { es: ['rollo', 'rollos'], en: ['roll', 'rolls'] }

const names = new Map(
  Object.entries<Names>({
    C62: piece,
    H87: piece,
    EA: piece,
    NAR: piece,
    PR: { es: ['par', 'pares'], en: ['pair', 'pairs'] },
    DZN: { es: ['docena', 'docenas'], en: ['dozen', 'dozen'] },
    CEN: { es: ['ciento', 'cientos'], en: ['hundred', 'hundred'] },
    MIL: { es: ['millar', 'millares'], en: ['thousand', 'thousand'] },
    SET: set,
    NMP: pack,
    XPK: pack,
    BX: box,
    XBX: box,
    XCT: { es: ['cartón', 'cartones'], en: ['carton', 'cartons'] },
    XBG: { es: ['bolsa', 'bolsas'], en: ['bag', 'bags'] },
    XSA: { es: ['saco', 'sacos'], en: ['sack', 'sacks'] },
    XBO: { es: ['botella', 'botellas'], en: ['bottle', 'bottles'] },
    XPX: pallet,
    XRO: roll,
    DAY: { es: ['día', 'días'], en: ['day', 'days'] },
    E49: { es: ['jornada', 'jornadas'], en: ['working day', 'working days'] },
    WEE: { es: ['semana', 'semanas'], en: ['week', 'weeks'] },
    MON: { es: ['mes', 'meses'], en: ['month', 'months'] },
    ANN: { es: ['año', 'años'], en: ['year', 'years'] },
    E48: { es: ['servicio', 'servicios'], en: ['service', 'services'] },
    LS: { es: ['partida alzada', 'partidas alzadas'], en: ['lump sum', 'lump sum'] },
  }),
)

/**
 * Returns the symbol or name of a unit, singular or plural by its quantity (decimal text).
 * Returns an unknown code unchanged.
 */
export function formatUnit(code: string, quantity: string, language: Language): string {
  const [singular, plural] = names.get(code)?.[language] ?? [code, code]
  return symbols.get(code) ?? (/^-?1$/.test(quantity) ? singular : plural)
}
