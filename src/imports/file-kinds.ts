// The kinds of files: their columns, each declared once with the names that other programs give it,
// how its cells are read and checked, and the rules between the cells of a row. The rules mirror the
// constraints of the schema.
import { getCurrencyDigits } from '../company/currencies.ts'
import { quoteStatuses, statusNames } from '../database/quote-statuses.ts'
import { type ProductField, productFields } from '../products/fields.ts'
import { languages } from '../texts/languages.ts'
import {
  findPhraseProblem,
  findQueryProblem,
  findSkuProblem,
  maxPinnedSkus,
  maxSynonyms,
  toStoredPhrase,
  toWordKey,
} from '../words/word-rules.ts'
import {
  type CellCheck,
  type CellReader,
  type Column,
  type CrossCellRule,
  checkCountry,
  checkCurrency,
  checkDay,
  checkDayOfIssue,
  checkDayUntil2099,
  checkDecimal,
  checkHsCode,
  checkLength,
  checkOneOf,
  checkPercentage,
  checkPositiveInteger,
  checkSku,
  checkUnit,
  checkYesOrNo,
  type FileColumns,
  quoteForMessage,
  readCode,
  readLowerCase,
  readSingleBlanks,
  readStatus,
  readUnit,
} from './cells.ts'
import { foldName, lineKindWords } from './known-words.ts'

function defineFile(
  key: string,
  columns: Record<string, Column>,
  rules: CrossCellRule[] = [],
): FileColumns {
  const allowed = Object.keys(columns)
  const required = allowed.filter((name) => columns[name]?.isRequired)
  const names = Object.fromEntries(
    allowed.map((name) => [
      name,
      [name, ...(columns[name]?.aliases ?? '').split(',')].map(foldName),
    ]),
  )
  return { columns, rules, allowed, names, required, key }
}

/** How the cells of a product are read and checked, by their kind. */
const productCells: Record<ProductField['cell'], (maxLength: number) => Column> = {
  sku: () => ({ check: checkSku, isRequired: true }),
  text: (maxLength) => ({ check: checkLength(maxLength) }),
  line: (maxLength) => ({ check: checkLength(maxLength), read: readSingleBlanks }),
  unit: () => ({ check: checkUnit, read: readUnit }),
  price: () => ({ check: checkDecimal(15, 4, 'zeroOrMore'), form: 'number' }),
  currency: () => ({ check: checkCurrency, read: readCode }),
  hs_code: () => ({ check: checkHsCode }),
  country: () => ({ check: checkCountry, read: readCode }),
  boolean: () => ({ check: checkYesOrNo }),
}

const productFile = defineFile(
  'sku',
  Object.fromEntries(
    Object.values<ProductField>(productFields).map(({ column, aliases, cell, maxLength = 0 }) => [
      column,
      { aliases, ...productCells[cell](maxLength), ...(column === 'name' && { isFilled: true }) },
    ]),
  ),
  // If the file has only one of the two columns, the product in the database may have the other.
  [
    {
      columns: ['currency', 'price'],
      needsBoth: true,
      findProblem: (currency, price) =>
        price && !currency ? 'is missing: a price needs its currency' : undefined,
    },
    {
      columns: ['price', 'currency'],
      needsBoth: true,
      findProblem: (price, currency) =>
        currency && !price ? 'is missing: a currency needs its price' : undefined,
    },
  ],
)

const incoterms2020 = ['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF']
/** As is_tax_reason() in SQL. */
const taxReasons = [
  'intra_community_goods',
  'intra_community_service',
  'export',
  'canary_islands',
  'reverse_charge',
  'exempt',
  'not_subject',
  'small_business',
]

const checkTaxReason: CellCheck = (cell, ...more) => {
  if (taxReasons.includes(cell)) return undefined
  if (!/\S\s+\S/.test(cell))
    return `${quoteForMessage(cell)} is neither a sentence nor one of ${taxReasons.join(', ')}`
  return checkLength(500)(cell, ...more)
}

/** The fields of a quote. Each row of the quote repeats them. */
const quoteFieldColumns = {
  number: {
    isRequired: true,
    check: checkLength(64),
    aliases:
      'order reference, quote number, quotation number, quote no, order id, orderid, order number, ' +
      'número, num, nº, número presupuesto, nº presupuesto, número de presupuesto, presupuesto, ' +
      'cotización, número cotización, nº cotización, oferta, folio',
  },
  version: { check: checkPositiveInteger, aliases: 'revision, versión, revisión, rev' },
  status: {
    isRequired: true,
    read: readStatus,
    check: checkOneOf(statusNames),
    aliases: 'state, estado, situación',
  },
  issued_on: {
    isRequired: true,
    form: 'date',
    check: checkDayOfIssue,
    aliases:
      'date, order date, orderdate, date order, quotation date, quote date, issue date, fecha, ' +
      'fecha emisión, fecha de emisión, fecha presupuesto',
  },
  valid_until: {
    form: 'date',
    check: checkDay,
    aliases:
      'expiration, expiration date, validity date, valid until, expiry date, válido hasta, validez, ' +
      'fecha validez, vencimiento, fecha vencimiento, fecha de vencimiento',
  },
  decided_on: {
    form: 'date',
    check: checkDayUntil2099,
    aliases: 'decision date, fecha decisión, fecha aceptación, fecha de aceptación, fecha estado',
  },
  customer_name: {
    read: readSingleBlanks,
    check: checkLength(500),
    aliases:
      'customer, customer name, partner id, client, cliente, nombre cliente, razón social, ' +
      'nombre del cliente',
  },
  customer_tax_id: {
    read: readSingleBlanks,
    check: checkLength(50),
    aliases:
      'vat, tax id, vat number, customer vat, partner id vat, nif, cif, rut, rfc, nit, ' +
      'nif cliente, rut cliente, cif nif',
  },
  customer_address: {
    check: checkLength(2_000),
    aliases: 'address, billing address, dirección, domicilio, dirección cliente',
  },
  customer_contact: {
    read: readSingleBlanks,
    check: checkLength(500),
    aliases: 'contact, contact name, contacto, persona de contacto',
  },
  country: {
    read: readCode,
    check: checkCountry,
    aliases: 'country code, customer country, país, país cliente, shipcountry',
  },
  currency: {
    isRequired: true,
    read: readCode,
    check: checkCurrency,
    aliases: 'currency id, moneda, divisa, currency code, mon',
  },
  rate: {
    form: 'number',
    check: checkDecimal(12, 12, 'aboveZero'),
    aliases: 'exchange rate, currency rate, tipo de cambio, tipo cambio, tasa de cambio, cambio',
  },
  incoterm: {
    read: readCode,
    check: checkOneOf(incoterms2020, 'is not an Incoterms 2020 rule such as FCA'),
    aliases: 'incoterms',
  },
  incoterm_place: { check: checkLength(200), aliases: 'incoterm location, lugar incoterm' },
  delivery: {
    check: checkLength(2_000),
    aliases: 'delivery time, plazo de entrega, plazo entrega, entrega',
  },
  payment_terms: {
    check: checkLength(2_000),
    aliases: 'payment term, payment term id, forma de pago, condiciones de pago',
  },
  language: { read: readLowerCase, check: checkOneOf(languages), aliases: 'lang, idioma' },
  tax_label: { check: checkLength(20), aliases: 'tax name, impuesto' },
  default_tax_reason: {
    check: checkTaxReason,
    aliases: 'default exemption reason, motivo exención general, causa exención general',
  },
  global_discount_percent: {
    form: 'percentage',
    check: checkPercentage,
    aliases: 'global discount, descuento global, dto global, descuento general, dto general',
  },
  global_discount_amount: {
    form: 'number',
    check: checkDecimal(15, 4, 'zeroOrMore'),
    aliases: 'importe descuento global, importe dto global, descuento global importe',
  },
  withholding_percent: {
    form: 'percentage',
    check: checkPercentage,
    aliases: 'withholding, withholding tax, retención, porcentaje retención, irpf, retención irpf',
  },
  notes: {
    check: checkLength(10_000),
    aliases: 'note, terms and conditions, observaciones, notas',
  },
  internal_notes: { check: checkLength(10_000), aliases: 'internal note, notas internas' },
} as const satisfies Record<string, Column>

const checkQuantity = checkDecimal(12, 6, 'notZero')
/** Also an empty cell. */
const isZero = (cell: string) => /^-?0*(\.0*)?$/.test(cell)

/** The fields of one line of a quote. */
const quoteLineColumns = {
  position: {
    check: checkPositiveInteger,
    aliases: 'line, line number, sequence, línea, nº línea, posición',
  },
  kind: {
    read: (cell) => lineKindWords[foldName(cell)] ?? cell,
    check: checkOneOf(['line', 'optional', 'heading', 'text']),
    aliases:
      'line kind, line type, display type, order lines display type, tipo de línea, tipo línea',
  },
  sku: { check: checkSku, aliases: productFields.sku.aliases },
  description: {
    isRequired: true,
    check: checkLength(10_000),
    aliases:
      'order lines description, order line name, product name, productname, line description, ' +
      'descripción, concepto, detalle, artículo descripción, producto, product, title',
  },
  quantity: {
    isRequired: true,
    mayBeEmpty: true,
    form: 'number',
    // A rule rejects 0 in lines with a price.
    check: (cell, ...more) => (isZero(cell) ? undefined : checkQuantity(cell, ...more)),
    aliases:
      'qty, order lines quantity, product uom qty, cantidad, cant, unidades, uds, ordered quantity',
  },
  unit: { read: readUnit, check: checkUnit, aliases: productFields.unit.aliases },
  unit_price: {
    isRequired: true,
    mayBeEmpty: true,
    form: 'number',
    check: checkDecimal(15, 8, 'any'),
    aliases:
      'price unit, order lines unit price, unitprice, price, precio, precio unitario, precio ud, ' +
      'p unitario, precio unidad, importe unitario',
  },
  discount_percent: {
    form: 'percentage',
    check: checkPercentage,
    aliases:
      'discount, discount percent, order lines discount, descuento, dto, desc, ' +
      'descuento porcentaje, porcentaje descuento',
  },
  tax_rate: {
    form: 'percentage',
    check: checkPercentage,
    aliases: 'tax, vat rate, vat percent, tax percent, iva, tipo iva, porcentaje iva, igv, itbis',
  },
  surcharge_rate: {
    form: 'percentage',
    check: checkPercentage,
    aliases: 'recargo, recargo equivalencia, recargo de equivalencia',
  },
  tax_reason: {
    check: checkTaxReason,
    aliases:
      'exemption reason, tax exemption reason, vat exemption reason, exemption code, ' +
      'motivo exención, motivo de exención, causa exención, causa de exención',
  },
  hs_code: { check: checkHsCode, aliases: productFields.hsCode.aliases },
  origin_country: {
    read: readCode,
    check: checkCountry,
    aliases: productFields.originCountry.aliases,
  },
} as const satisfies Record<string, Column>

type NameOf<Columns> = keyof Columns & string
export type QuoteColumn = NameOf<typeof quoteFieldColumns> | NameOf<typeof quoteLineColumns>

/** The fields of a quote without number and version, which identify it. */
export const repeatedQuoteFields = (
  Object.keys(quoteFieldColumns) as NameOf<typeof quoteFieldColumns>[]
).filter((field) => field !== 'number' && field !== 'version')
export const quoteLineFields = Object.keys(quoteLineColumns) as NameOf<typeof quoteLineColumns>[]
export const quoteColumns: readonly QuoteColumn[] = [
  'number',
  'version',
  ...repeatedQuoteFields,
  ...quoteLineFields,
]

/** Whether an amount has more decimals than its currency, without zeros at the end. */
const hasMoreDigits = (amount: string, currency: string) =>
  (/\.(\d*[1-9])/.exec(amount)?.[1]?.length ?? 0) > (getCurrencyDigits(currency) ?? 4)

const notBeforeIssue = (column: 'valid_until' | 'decided_on'): CrossCellRule => ({
  columns: [column, 'issued_on'],
  // ISO dates sort as text.
  findProblem: (date, issuedOn) =>
    date && date < issuedOn
      ? `${quoteForMessage(date)} is before issued_on, ${issuedOn}`
      : undefined,
})

const dependsOn = (column: QuoteColumn, other: QuoteColumn, problem: string): CrossCellRule => ({
  columns: [column, other],
  findProblem: (cell, required) => (cell && !required ? problem : undefined),
})

const undecidedStatuses: string[] = statusNames.filter((name) => !quoteStatuses[name].isDecided)

const isPriced = (kind: string) => kind !== 'heading' && kind !== 'text'

/** A heading or text may have zeros, which other programs write there. */
const belongsToPricedLine = (column: QuoteColumn): CrossCellRule => ({
  columns: [column, 'kind'],
  findProblem: (cell, kind) =>
    isPriced(kind) || isZero(cell)
      ? undefined
      : `${quoteForMessage(cell)} is given, but the kind of the line is ${kind}`,
})

const pricedLineNeeds = (column: QuoteColumn, check?: CellCheck): CrossCellRule => ({
  columns: [column, 'kind'],
  findProblem(cell, kind, codes) {
    if (!isPriced(kind)) return undefined
    if (cell === '') return 'is missing'
    return isZero(cell) ? check?.(cell, cell, codes) : undefined
  },
})

const decisionHasStatus: CrossCellRule = {
  columns: ['decided_on', 'status'],
  findProblem: (decidedOn, status) =>
    decidedOn && undecidedStatuses.includes(status)
      ? `is given, but the status is ${status}: ` +
        'only accepted, rejected and superseded quotes have one'
      : undefined,
}

const quoteFile = defineFile('number', { ...quoteFieldColumns, ...quoteLineColumns }, [
  notBeforeIssue('valid_until'),
  notBeforeIssue('decided_on'),
  decisionHasStatus,
  {
    columns: ['rate', 'currency'],
    findProblem: (rate, currency, { baseCurrency }) =>
      rate && currency === baseCurrency && !/^0*1(\.0*)?$/.test(rate)
        ? `${quoteForMessage(rate)} must be 1 or empty: ${baseCurrency} is the base currency`
        : undefined,
  },
  dependsOn('incoterm_place', 'incoterm', 'is given without an incoterm'),
  {
    columns: ['tax_reason', 'tax_rate'],
    findProblem: (reason, rate) =>
      reason && /[1-9]/.test(rate) ? `is given, but the tax_rate is ${rate}` : undefined,
  },
  dependsOn('surcharge_rate', 'tax_rate', 'is given without a tax_rate'),
  {
    columns: ['global_discount_amount', 'global_discount_percent'],
    findProblem: (amount, percent) =>
      /[1-9]/.test(amount) && /[1-9]/.test(percent)
        ? 'is given beside global_discount_percent: a quote has one of both'
        : undefined,
  },
  {
    columns: ['global_discount_amount', 'currency'],
    findProblem: (amount, currency) =>
      hasMoreDigits(amount, currency)
        ? `${quoteForMessage(amount)} has more decimals than ${currency}`
        : undefined,
  },
  pricedLineNeeds('quantity', checkQuantity),
  pricedLineNeeds('unit_price'),
  ...quoteLineFields
    .filter((field) => !['position', 'kind', 'description'].includes(field))
    .map(belongsToPricedLine),
])

const { number, version, status, decided_on } = quoteFieldColumns
const quoteStatusFile = defineFile('number', { number, version, status, decided_on }, [
  decisionHasStatus,
])

/** Separates the values of a cell that is a list. */
export const listSeparator = '|'

/** Reads a list such as `drill | driver`, and drops empty and repeated values. */
const readListOf =
  (read: (value: string) => string): CellReader =>
  (cell) => {
    const values = cell.split(listSeparator).map((value) => read(value.trim()))
    return [...new Set(values.filter((value) => value !== ''))].join(listSeparator)
  }

/** Puts the value before its problem. */
const checkValue =
  (findProblem: (value: string) => string | undefined): CellCheck =>
  (cell) => {
    const problem = findProblem(cell)
    return problem && `${quoteForMessage(cell)} ${problem}`
  }

const checkEach =
  (findProblem: (value: string) => string | undefined, most: number, what: string): CellCheck =>
  (cell, ...more) => {
    const values = cell.split(listSeparator)
    if (values.length > most) return `has ${values.length} ${what}: at most ${most} are allowed`
    return values.map((value) => checkValue(findProblem)(value, ...more)).find(Boolean)
  }

const synonymFile = defineFile(
  'word',
  {
    word: { isRequired: true, read: toStoredPhrase, check: checkValue(findPhraseProblem) },
    synonyms: {
      isRequired: true,
      read: readListOf(toStoredPhrase),
      check: checkEach(findPhraseProblem, maxSynonyms, 'synonyms'),
    },
    two_way: { read: readLowerCase, check: checkYesOrNo },
  },
  [
    {
      columns: ['synonyms', 'word'],
      findProblem: (synonyms, word) => {
        const key = toWordKey(word)
        const same = synonyms.split(listSeparator).find((synonym) => toWordKey(synonym) === key)
        return same === undefined || key === ''
          ? undefined
          : `${quoteForMessage(same)} is the word itself`
      },
    },
  ],
)

const pinFile = defineFile('query', {
  query: { isRequired: true, read: toStoredPhrase, check: checkValue(findQueryProblem) },
  skus: {
    isRequired: true,
    read: readListOf((sku) => sku),
    check: checkEach(findSkuProblem, maxPinnedSkus, 'SKUs'),
  },
})

const hiddenWordFile = defineFile(
  'word',
  {
    word: {
      isRequired: true,
      read: toStoredPhrase,
      check: checkValue((word) => (word === '*' ? undefined : findPhraseProblem(word))),
    },
    hides: { read: readLowerCase, check: checkOneOf(['synonyms', 'word']) },
  },
  [
    {
      columns: ['hides', 'word'],
      findProblem: (hides, word) =>
        word === '*' && hides === 'word'
          ? 'the word * stands for all built-in synonyms: it can only hide synonyms'
          : undefined,
    },
  ],
)

export const fileKinds = {
  products: productFile,
  quotes: quoteFile,
  'quote-statuses': quoteStatusFile,
  synonyms: synonymFile,
  pins: pinFile,
  'hidden-words': hiddenWordFile,
} satisfies Record<string, FileColumns>
export type FileKind = keyof typeof fileKinds
export type WordFileKind = 'synonyms' | 'pins' | 'hidden-words'
