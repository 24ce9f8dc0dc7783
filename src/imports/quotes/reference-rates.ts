// Rough values of currencies, to recognise an inverted rate before there is any history.

/**
 * How many units make about one euro, as in 2025. The list has only currencies that are stable
 * enough not to change by a factor of 5 within a few years. So a value needs an update only after
 * such a change, for example when a currency is replaced.
 */
const unitsPerEuro: Record<string, number> = {
  EUR: 1,
  USD: 1.1,
  GBP: 0.85,
  CHF: 0.95,
  CAD: 1.6,
  AUD: 1.75,
  NZD: 1.9,
  CNY: 8,
  HKD: 9,
  SGD: 1.5,
  JPY: 165,
  KRW: 1_550,
  TWD: 35,
  THB: 38,
  INR: 97,
  IDR: 18_500,
  VND: 29_000,
  PHP: 65,
  MYR: 4.8,
  BRL: 6.2,
  MXN: 21,
  CLP: 1_080,
  COP: 4_600,
  PEN: 4.1,
  UYU: 46,
  PYG: 8_500,
  CRC: 570,
  DOP: 70,
  GTQ: 8.7,
  SEK: 11.2,
  NOK: 11.7,
  DKK: 7.46,
  ISK: 145,
  PLN: 4.3,
  CZK: 25,
  HUF: 400,
  RON: 5,
  RSD: 117,
  UAH: 48,
  ILS: 4,
  AED: 4.1,
  SAR: 4.2,
  QAR: 4,
  KWD: 0.34,
  BHD: 0.42,
  OMR: 0.43,
  JOD: 0.79,
  TND: 3.4,
  MAD: 10.6,
  DZD: 150,
  XOF: 656,
  XAF: 656,
  ZAR: 20,
  KES: 145,
}

/** Returns about how many units of the base currency one unit of each known currency is worth. */
export function listReferenceRates(baseCurrency: string): { currency: string; rate: number }[] {
  const base = unitsPerEuro[baseCurrency]
  if (base === undefined) return []
  return Object.entries(unitsPerEuro).map(([currency, units]) => ({ currency, rate: base / units }))
}
