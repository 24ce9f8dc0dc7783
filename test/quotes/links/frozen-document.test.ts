// The frozen document behind a quote link: its fields, canonical form and hash.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { recordCompany } from '../../../src/company/company-record.ts'
import type { NewLink } from '../../../src/quotes/links/manage-links.ts'
import { QuoteDocument } from '../../../src/quotes/schema.ts'
import { company } from '../../support/database/company.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { findMissingFields } from '../../support/quotes/document-fields.ts'
import {
  createAndReadLink,
  type Line,
  minimalLine,
  minimalQuote,
  type Quote,
  readLinkRow,
  writeQuote,
} from '../../support/quotes/frozen-documents.ts'

const completeQuote: Quote = {
  number: 'P-2026/0117 ñ',
  version: 2,
  status: 'sent',
  customer_name: 'Talleres del Ejemplo, S.L.',
  customer_tax_id: 'ESB00000000',
  customer_address: 'Calle del Ejemplo, 7\n31001 Pamplona',
  customer_contact: 'Compras',
  country: 'ES',
  currency: 'EUR',
  rate: '1',
  issued_on: '2026-03-02',
  valid_until: '2026-04-01',
  incoterm: 'DAP',
  incoterm_place: 'Pamplona',
  delivery: '15 días',
  payment_terms: '30 días fecha de factura',
  language: 'es',
  global_discount_percent: '10.0',
  withholding_percent: '15',
  notes: 'Portes incluidos.\n«Sin montaje»',
  internal_notes: 'Margen 31 %, no bajar de 290',
}

const completeLines: Line[] = [
  { position: 50, description: 'Suplido', quantity: '1', unit_price: '10' },
  {
    position: 10,
    sku: 'MB-300',
    description: 'Martillo de bola 300 g',
    quantity: '24.000',
    unit: 'C62',
    unit_price: '12.5',
    discount_percent: '5.0',
    tax_rate: '21.0',
    surcharge_rate: '5.20',
    hs_code: '820520',
    origin_country: 'ES',
  },
  {
    position: 40,
    description: 'Formación',
    quantity: '1',
    unit_price: '100',
    discount_percent: '100',
    tax_rate: '0',
    tax_reason: 'exempt',
  },
  { position: 5, kind: 'heading', description: 'Herramientas' },
]

const eur = (amount: string) => ({ amount, currency: 'EUR' })

const exemptions = [{ text: 'exempt', lines: [40] }]
const completeDocument = {
  number: 'P-2026/0117 ñ',
  version: 2,
  issuedOn: '2026-03-02',
  validUntil: '2026-04-01',
  language: 'es',
  currency: 'EUR',
  seller: {
    legalName: 'Ferretería de Prueba, S.L.',
    taxId: 'ES B00000000',
    address: 'Calle de la Prueba, 1\n28000 Madrid\nEspaña',
    email: 'ventas@example.com',
    phone: '+34 900 000 000',
    website: 'https://example.com',
    bank: {
      holder: 'Ferretería de Prueba, S.L.',
      iban: 'ES91 2100 0418 4502 0005 1332',
      bic: 'CAIXESBBXXX',
    },
    country: 'ES',
  },
  buyer: {
    name: 'Talleres del Ejemplo, S.L.',
    taxId: 'ESB00000000',
    address: 'Calle del Ejemplo, 7\n31001 Pamplona',
    contactName: 'Compras',
    country: 'ES',
  },
  lines: [
    createLine(5, {
      kind: 'heading',
      description: 'Herramientas',
      quantity: '0',
      unitPrice: eur('0.00'),
      net: eur('0.00'),
      subtotal: eur('295.00'),
    }),
    {
      position: 10,
      kind: 'line',
      sku: 'MB-300',
      description: 'Martillo de bola 300 g',
      quantity: '24',
      unit: 'C62',
      unitPrice: eur('12.50'),
      discountPercent: '5',
      taxRate: '21',
      surchargeRate: '5.2',
      taxReason: null,
      hsCode: '820520',
      originCountry: 'ES',
      net: eur('285.00'),
      subtotal: null,
    },
    createLine(40, {
      description: 'Formación',
      quantity: '1',
      unitPrice: eur('100.00'),
      discountPercent: '100',
      taxRate: '0',
      // The test database lacks the text of the reason.
      taxReason: { code: 'exempt', text: 'exempt' },
      net: eur('0.00'),
    }),
    createLine(50, {
      description: 'Suplido',
      quantity: '1',
      unitPrice: eur('10.00'),
      net: eur('10.00'),
    }),
  ],
  totals: {
    net: eur('265.50'),
    discounts: eur('115.00'),
    discount: { percent: '10', base: eur('295.00'), amount: eur('29.50') },
    taxes: [
      {
        rate: '21',
        surchargeRate: '5.2',
        base: eur('256.50'),
        amount: eur('53.87'),
        surchargeAmount: eur('13.34'),
      },
      {
        rate: '0',
        surchargeRate: null,
        base: eur('0.00'),
        amount: eur('0.00'),
        surchargeAmount: null,
      },
    ],
    taxLabel: {
      es: 'IVA',
      en: 'VAT',
      pt: 'IVA',
      fr: 'TVA',
      it: 'IVA',
      de: 'USt.',
    },
    untaxedBase: eur('9.00'),
    gross: eur('332.71'),
    withheld: { rate: '15', amount: eur('39.83'), amountDue: eur('292.88') },
  },
  trade: { incoterm: { code: 'DAP', edition: '2020', place: 'Pamplona' }, delivery: '15 días' },
  payment: { terms: '30 días fecha de factura' },
  legal: ['Precios válidos salvo error u omisión.'],
  legalForLines: exemptions,
  legalTranslations: {
    en: { legal: ['Errors and omissions excepted.'], legalForLines: exemptions },
    ...Object.fromEntries(
      ['pt', 'fr', 'it', 'de'].map((language) => [
        language,
        {
          legal: [],
          legalForLines: exemptions,
          legalInOtherLanguages: [
            { language: 'es', text: 'Precios válidos salvo error u omisión.' },
          ],
        },
      ]),
    ),
  },
  notes: 'Portes incluidos.\n«Sin montaje»',
}

/** Returns a line of the document. Optional values are missing unless `values` contains them. */
function createLine<Values extends object>(position: number, values: Values) {
  const missing = {
    kind: 'line',
    sku: null,
    unit: null,
    discountPercent: '0',
    taxRate: null,
    surchargeRate: null,
    taxReason: null,
    hsCode: null,
    originCountry: null,
    subtotal: null,
  }
  return { position, ...missing, ...values }
}

t.test(
  'the document of a complete quote has the fields of the contract and no other',
  async (t) => {
    const { db } = await testDatabase(t)
    await sql`alter table quotes alter id restart with 918273645`.execute(db)
    await sql`alter table customers alter id restart with 564738291`.execute(db)
    const customer = await db
      .insertInto('customers')
      .values({ name: 'Talleres' })
      .returning('id')
      .executeTakeFirstOrThrow()
    await writeQuote(db, { ...completeQuote, customer_id: customer.id }, completeLines)
    const { document } = await createAndReadLink(db, { number: completeQuote.number })
    t.strictSame(JSON.parse(document), completeDocument)
    t.same(findMissingFields(completeDocument), [], 'it has every field of QuoteDocument')
    for (const internal of ['918273645', '564738291', 'Margen', 'internal'])
      t.notMatch(document, internal, `no ${internal}`)
  },
)

t.test('unknown values of a minimal quote are null', async (t) => {
  const { db } = await testDatabase(t)
  await writeQuote(db, minimalQuote, [])
  const { document } = await createAndReadLink(db, { number: 'P-1' })
  const { legalForLines: _, ...withoutExemption } = completeDocument
  t.strictSame(JSON.parse(document), {
    ...withoutExemption,
    legalTranslations: { en: { legal: ['Errors and omissions excepted.'] } },
    number: 'P-1',
    version: 1,
    validUntil: null,
    buyer: { name: null, taxId: null, address: null, contactName: null, country: null },
    lines: [],
    totals: {
      net: eur('0.00'),
      discounts: eur('0.00'),
      discount: null,
      taxes: [],
      taxLabel: completeDocument.totals.taxLabel,
      untaxedBase: null,
      gross: eur('0.00'),
      withheld: null,
    },
    trade: { incoterm: null, delivery: null },
    payment: { terms: null },
    notes: null,
  })
})

t.test('amounts have the digits of their currency, unit prices at least that many', async (t) => {
  const { db } = await testDatabase(t)
  const discounted = { unit_price: '1500.0', discount_percent: '12.5' }
  const lines: Line[] = [
    { description: 'a', quantity: '3', unit_price: '0.5', tax_rate: '10' },
    { description: 'b', quantity: '1', ...discounted, tax_rate: '10' },
  ]
  for (const [currency, prices, nets, totals] of [
    ['JPY', '0.5 1500', '2 1313', '1315 187 132 1447'],
    ['EUR', '0.50 1500.00', '1.50 1312.50', '1314.00 187.50 131.40 1445.40'],
    ['KWD', '0.500 1500.000', '1.500 1312.500', '1314.000 187.500 131.400 1445.400'],
  ] as const) {
    await writeQuote(db, { ...minimalQuote, number: currency, currency }, lines)
    const document = JSON.parse(
      (await createAndReadLink(db, { number: currency })).document,
    ) as typeof completeDocument
    const { net, discounts, taxes, gross } = document.totals
    const read = (amounts: ({ amount: string; currency: string } | undefined)[]) =>
      amounts.map((money) => `${money?.amount}${money?.currency}`).join(' ')
    const expected = (amounts: string) => amounts.replaceAll(/(?= |$)/g, currency)
    t.equal(read(document.lines.map(({ unitPrice }) => unitPrice)), expected(prices))
    t.equal(read(document.lines.map((line) => line.net)), expected(nets))
    t.equal(read([net, discounts, taxes[0]?.amount, gross]), expected(totals))
  }
})

t.test(
  'the document has the requested language, or that of the quote, or that of the company',
  async (t) => {
    const { db } = await testDatabase(t)
    await writeQuote(db, minimalQuote, [minimalLine])
    await writeQuote(db, { ...minimalQuote, number: 'P-2', language: 'en' }, [minimalLine])
    const createAndReadLanguage = async (request: NewLink) =>
      (JSON.parse((await createAndReadLink(db, request)).document) as typeof completeDocument)
        .language
    t.equal(await createAndReadLanguage({ number: 'P-1' }), 'es')
    t.equal(await createAndReadLanguage({ number: 'P-2' }), 'en')
    t.equal(await createAndReadLanguage({ number: 'P-2', language: 'es' }), 'es')
  },
)

t.test(
  'the document is in RFC 8785 canonical form for any text, and its hash is its SHA-256',
  async (t) => {
    const { db } = await testDatabase(t)
    const specialCharacter = fc.constantFrom(
      ...'"\\/\b\f\n\r\t\v\u0001\u001f\u007f\u0085\u00a0\u2028\u2029\ufeff\uffffñÑéé€<>&\'{}[]:,',
      '😀',
      '𝒳',
      '👩‍👩‍👧',
      '𠮷',
    )
    const unit = fc
      .oneof(specialCharacter, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
      .filter((text) => text !== '\0')
    const text = fc.string({ unit, maxLength: 40 })
    const texts = fc.record({
      number: text,
      name: text,
      address: text,
      place: text,
      notes: text,
      sku: text,
      description: text,
      terms: text,
    })
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        texts,
        async ({ number: middle, name, address, place, notes, sku, description, terms }) => {
          const number = `${++runs}${middle}.`
          const quote: Quote = {
            ...minimalQuote,
            number,
            customer_name: name,
            customer_address: address,
            incoterm: 'FOB',
            incoterm_place: place,
            payment_terms: terms,
            notes,
          }
          await writeQuote(db, quote, [{ ...minimalLine, sku, description: `a${description}` }])
          const { document, content_hash } = await createAndReadLink(db, { number })
          const parsed = JSON.parse(document) as typeof completeDocument
          t.equal(document, canonicalize(parsed))
          t.equal(content_hash, createHash('sha256').update(document, 'utf8').digest('hex'))
          const { buyer, lines, trade, payment } = parsed
          const documentTexts = [
            parsed.number,
            buyer.name,
            buyer.address,
            trade.incoterm.place,
            payment.terms,
            parsed.notes,
            lines[0]?.sku,
            lines[0]?.description,
          ]
          t.strictSame(
            documentTexts,
            [number, name, address, place, terms, notes, sku, `a${description}`],
            'the texts are unchanged',
          )
        },
      ),
      { numRuns: 50, seed: 8785 },
    )
  },
)

t.test('later changes of the quote or the company do not change the document', async (t) => {
  const { db } = await testDatabase(t)
  await writeQuote(db, completeQuote, completeLines)
  const before = await createAndReadLink(db, { number: completeQuote.number })
  await sql`
      update quotes set notes = 'otra cosa', customer_name = 'Otra', status = 'accepted',
        net = 1, tax = 0, gross = 1`.execute(db)
  await sql`delete from quote_lines where position > 10`.execute(db)
  await recordCompany(db, {
    ...company,
    seller: { ...company.seller, bank: null, phone: '+34 911 111 111' },
  })
  t.strictSame(await readLinkRow(db, before.token_hash), before)
})

type SchemaNode = {
  type?: string
  required?: string[]
  properties?: Record<string, SchemaNode>
  anyOf?: SchemaNode[]
  items?: SchemaNode
}

/** Returns the fields that every document has, with the fields of their objects after a dot. */
function listRequiredFields({ required = [], properties, anyOf, items }: SchemaNode): string[] {
  const own = required.flatMap((name) => [
    name,
    ...listRequiredFields(properties?.[name] ?? {}).map((field) => `${name}.${field}`),
  ])
  return [...own, ...[...(anyOf ?? []), ...(items ? [items] : [])].flatMap(listRequiredFields)]
}

const requiredFields = `
  buyer buyer.address buyer.contactName buyer.name buyer.taxId currency issuedOn language
  legal lines lines.description lines.discountPercent lines.hsCode lines.net
  lines.originCountry lines.position lines.quantity lines.sku lines.surchargeRate
  lines.taxRate lines.unit lines.unitPrice notes number payment payment.terms seller
  seller.address seller.bank seller.bank.bic seller.bank.holder seller.bank.iban
  seller.email seller.legalName seller.phone seller.taxId seller.website totals
  totals.discounts totals.gross totals.net totals.taxes totals.taxes.base totals.taxes.rate
  totals.taxes.surchargeAmount totals.taxes.surchargeRate trade trade.delivery
  trade.incoterm trade.incoterm.code trade.incoterm.edition trade.incoterm.place validUntil
  version
`

const isMoney = (field: string) => /\.(amount|currency)$/.test(field)

t.test('a document has no further required field, because old ones would lack it', async (t) => {
  const fields = listRequiredFields(QuoteDocument as SchemaNode)
  t.same(fields.filter((field) => !isMoney(field)).sort(), requiredFields.trim().split(/\s+/))
})
