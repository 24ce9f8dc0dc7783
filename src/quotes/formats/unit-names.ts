// Symbols and names of the units of measure by their UN/ECE code.
// Codes that start with X are packages of Recommendation 21, the others are of Recommendation 20.
import type { Language } from '../../company/languages.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { UnitName } from '../quote-texts/quote-texts-type.ts'

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

const names = new Map<string, UnitName>(
  Object.entries({
    C62: 'piece',
    H87: 'piece',
    EA: 'piece',
    NAR: 'piece',
    PR: 'pair',
    DZN: 'dozen',
    CEN: 'hundred',
    MIL: 'thousand',
    SET: 'set',
    NMP: 'pack',
    XPK: 'pack',
    BX: 'box',
    XBX: 'box',
    XCT: 'carton',
    XBG: 'bag',
    XSA: 'sack',
    XBO: 'bottle',
    XPX: 'pallet',
    XRO: 'roll',
    DAY: 'day',
    E49: 'workingDay',
    WEE: 'week',
    MON: 'month',
    ANN: 'year',
    E48: 'service',
    LS: 'lumpSum',
  }),
)

/**
 * Returns the symbol or name of a unit, singular or plural by its quantity (decimal text).
 * Returns an unknown code unchanged.
 */
export function formatUnit(code: string, quantity: string, language: Language): string {
  const name = names.get(code)
  const [singular, plural] = name ? quoteTexts[language].units[name] : [code, code]
  return symbols.get(code) ?? (/^-?1$/.test(quantity) ? singular : plural)
}
