// The names that other programs give to the columns of an import. Names are compared without case,
// accents and signs. If several columns of a file have the same meaning, the name that comes first
// here wins, and the others count as unknown.
import { type ProductColumn, productFields } from '../products/fields.ts'

/** Separated by commas. */
const productAliases = Object.fromEntries(
  Object.values(productFields).map(({ column, aliases }) => [column, aliases]),
) as Record<ProductColumn, string>

const quoteAliases = {
  number:
    'order reference, quote number, quotation number, quote no, order id, orderid, order number, ' +
    'número, num, nº, número presupuesto, nº presupuesto, número de presupuesto, presupuesto, ' +
    'cotización, número cotización, nº cotización, oferta, folio',
  version: 'revision, versión, revisión, rev',
  status: 'state, estado, situación',
  issued_on:
    'date, order date, orderdate, date order, quotation date, quote date, issue date, fecha, ' +
    'fecha emisión, fecha de emisión, fecha presupuesto',
  valid_until:
    'expiration, expiration date, validity date, valid until, expiry date, válido hasta, validez, ' +
    'fecha validez, vencimiento, fecha vencimiento, fecha de vencimiento',
  decided_on: 'decision date, fecha decisión, fecha aceptación, fecha de aceptación, fecha estado',
  customer_name:
    'customer, customer name, partner id, client, cliente, nombre cliente, razón social, ' +
    'nombre del cliente',
  customer_tax_id:
    'vat, tax id, vat number, customer vat, partner id vat, nif, cif, rut, rfc, nit, ' +
    'nif cliente, rut cliente, cif nif',
  customer_address: 'address, billing address, dirección, domicilio, dirección cliente',
  customer_contact: 'contact, contact name, contacto, persona de contacto',
  country: 'country code, customer country, país, país cliente, shipcountry',
  currency: 'currency id, moneda, divisa, currency code, mon',
  rate: 'exchange rate, currency rate, tipo de cambio, tipo cambio, tasa de cambio, cambio',
  incoterm: 'incoterms',
  incoterm_place: 'incoterm location, lugar incoterm',
  delivery: 'delivery time, plazo de entrega, plazo entrega, entrega',
  payment_terms: 'payment term, payment term id, forma de pago, condiciones de pago',
  language: 'lang, idioma',
  tax_label: 'tax name, impuesto',
  notes: 'note, terms and conditions, observaciones, notas',
  internal_notes: 'internal note, notas internas',
  position: 'line, line number, sequence, línea, nº línea, posición',
  sku: productAliases.sku,
  description:
    'order lines description, order line name, product name, productname, line description, ' +
    'descripción, concepto, detalle, artículo descripción, producto, product, title',
  quantity:
    'qty, order lines quantity, product uom qty, cantidad, cant, unidades, uds, ordered quantity',
  unit: productAliases.unit,
  unit_price:
    'price unit, order lines unit price, unitprice, price, precio, precio unitario, precio ud, ' +
    'p unitario, precio unidad, importe unitario',
  discount_percent:
    'discount, discount percent, order lines discount, descuento, dto, desc, ' +
    'descuento porcentaje, porcentaje descuento',
  tax_rate: 'tax, vat rate, vat percent, tax percent, iva, tipo iva, porcentaje iva, igv, itbis',
  surcharge_rate: 'recargo, recargo equivalencia, recargo de equivalencia',
  hs_code: productAliases.hs_code,
  origin_country: productAliases.origin_country,
}

export const columnAliases = { products: productAliases, quotes: quoteAliases }

/** Statuses of quotes as people and programs write them, in lower case and without accents. */
export const statusWords: Record<string, string> = {
  ...listWords('draft', 'borrador quotation presupuesto'),
  ...listWords('sent', 'enviado enviada emitido emitida pendiente presentado presentada'),
  ...listWords('accepted', 'aceptado aceptada aprobado aprobada ganado ganada won sale done'),
  ...listWords('rejected', 'rechazado rechazada perdido perdida lost declined'),
  ...listWords('expired', 'vencido vencida caducado caducada'),
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
