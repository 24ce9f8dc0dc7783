// A linked quote with all optional values, and the same quote filled with hostile text.
import type { Money } from '../../../src/company/money.ts'
import type { OpenLink } from '../../../src/quotes/links/read-link.ts'
import type { LinkedQuote, QuoteDocument } from '../../../src/quotes/schema.ts'

export const eur = (amount: string): Money => ({ amount, currency: 'EUR' })

export const hammer: QuoteDocument['lines'][number] = {
  position: 71,
  kind: 'line',
  sku: 'AB-742-X',
  description: 'Martillo de bola 300 g',
  quantity: '1240',
  unit: 'C62',
  unitPrice: eur('12.50'),
  discountPercent: '5',
  taxRate: '21',
  surchargeRate: '5.2',
  taxReason: { code: 'exempt', text: 'Operación exenta' },
  hsCode: '820520',
  originCountry: 'DE',
  net: eur('14725.00'),
}

const heading: QuoteDocument['lines'][number] = {
  ...hammer,
  position: 5,
  kind: 'heading',
  sku: null,
  description: 'Herramientas',
  quantity: '0',
  unit: null,
  unitPrice: eur('0.00'),
  discountPercent: '0',
  taxRate: null,
  surchargeRate: null,
  taxReason: null,
  hsCode: null,
  originCountry: null,
  net: eur('0.00'),
  subtotal: eur('77.70'),
}

export const document: QuoteDocument = {
  number: 'P-2026-17',
  version: 3,
  issuedOn: '2026-11-17',
  validUntil: '2026-12-01',
  language: 'es',
  currency: 'EUR',
  seller: {
    legalName: 'Ferretería de Prueba, S.L.',
    taxId: 'ESB00000000',
    address: 'Calle de la Prueba, 1\n28000 Madrid',
    email: 'ventas@example.com',
    phone: '+34 900 000 000',
    website: 'https://example.com/tienda',
    bank: {
      holder: 'Ferretería de Prueba, S.L.',
      iban: 'ES9121000418450200051332',
      bic: 'CAIXESBBXXX',
    },
    country: 'ES',
  },
  buyer: {
    name: 'Comercial El Ejemplo, S.A.',
    taxId: 'A00000000',
    address: 'Calle Ficticia, 14\n50001 Zaragoza',
    contactName: 'Compras',
    country: 'ES',
  },
  lines: [
    hammer,
    {
      ...hammer,
      position: 2,
      sku: null,
      description: 'Cañería',
      quantity: '37.5',
      unit: 'MTR',
      unitPrice: eur('4.2751'),
      net: eur('152.30'),
    },
    {
      ...hammer,
      position: 3,
      description: 'Queso',
      unit: 'KGM',
      quantity: '12.35',
      discountPercent: '0',
      taxRate: '4',
      surchargeRate: '0.5',
    },
    {
      ...hammer,
      position: 4,
      description: 'Muestra',
      unit: null,
      unitPrice: eur('0.00'),
      surchargeRate: null,
      hsCode: null,
      net: eur('0.00'),
    },
    heading,
    { ...heading, kind: 'text', position: 15, description: 'Montaje en obra', subtotal: null },
    { ...hammer, kind: 'optional', position: 7, description: 'Taladro', net: eur('88.80') },
  ],
  totals: {
    net: eur('1234567.50'),
    discounts: eur('783.02'),
    discount: { percent: '7.5', base: eur('1334667.57'), amount: eur('100100.07') },
    taxes: [
      {
        rate: '21',
        surchargeRate: '5.2',
        base: eur('14877.30'),
        amount: eur('3124.23'),
        surchargeAmount: eur('773.62'),
      },
      {
        rate: '4',
        surchargeRate: '0.5',
        base: eur('184.02'),
        amount: eur('7.36'),
        surchargeAmount: eur('0.92'),
      },
    ],
    untaxedBase: eur('10.00'),
    gross: eur('1238473.63'),
    withheld: { rate: '15', amount: eur('185185.13'), amountDue: eur('1053288.50') },
  },
  trade: { incoterm: { code: 'DAP', edition: '2020', place: 'Zaragoza' }, delivery: 'En 10 días' },
  payment: { terms: '30 % con el pedido' },
  legal: ['Precios válidos salvo error u omisión.'],
  notes: 'Incluye el embalaje.',
}

export const linkedQuote: LinkedQuote = {
  status: 'sent',
  link: { expiresAt: '2027-01-03T14:05:06.789Z' },
  contentHash: 'a3f1c02b9d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd',
  document,
}

/** The link to that quote. */
export const openLink: OpenLink = {
  state: 'open',
  quoteStatus: linkedQuote.status,
  contentHash: linkedQuote.contentHash,
  expiresAt: linkedQuote.link.expiresAt,
  linkId: '1',
  tokenHash: '',
  rowVersion: '1',
  documentBytes: 1,
}

/** A quote with one line and no optional value. */
export const minimalValues: Partial<QuoteDocument> = {
  validUntil: null,
  seller: { ...document.seller, website: null, bank: null },
  buyer: { name: null, taxId: null, address: null, contactName: null },
  lines: [
    {
      ...hammer,
      sku: null,
      unit: null,
      discountPercent: '0',
      taxRate: null,
      surchargeRate: null,
      hsCode: null,
      originCountry: null,
    },
  ],
  totals: { net: eur('1.00'), discounts: eur('0.00'), taxes: [], gross: eur('1.00') },
  trade: { incoterm: null, delivery: null },
  payment: { terms: null },
  legal: [],
  notes: null,
}

/** Returns the linked quote with some fields of its document replaced. */
export const withDocument = (changes: Partial<QuoteDocument>): LinkedQuote => ({
  ...linkedQuote,
  document: { ...document, ...changes },
})

/** Returns the text of a page without its style sheet and tags, with entities decoded. */
export function getVisibleText(html: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return html
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? '')
}

/** Returns a page without what is not printed: links of the screen, its disclosure, the title. */
export function removeScreenOnly(html: string): string {
  return html
    .replace(/<(p|nav|details) class="[a-z -]*screen-only".*?<\/\1>/gs, '')
    .replace(/<a class="button.*?<\/a>|<title>.*?<\/title>/gs, '')
}

const markup =
  `<script>alert(1)</script></style><style>*{display:none}</style><img src=x onerror=alert(2)>` +
  `" onclick="alert(3)' <!-- & &lt; %> <%= 1 %> \${1}`
const controlCharacters =
  '\u0000\u0007\u009b\u202aA\u202bB\u202cC\u202dD\u202eE\u2066F\u2067G\u2068H\u2069'
export const hostileText = `${markup} ${controlCharacters} 👩‍👩‍👧 שלום \ud800`
/** The hostile text as a page or PDF shows it. */
export const shownHostileText = `${markup} ABCDEFGH 👩‍👩‍👧 שלום \ufffd`

/** Returns the quote with every text replaced by `text`. */
export function fillQuote(text: string, website = text): LinkedQuote {
  const { lines, trade } = document
  return withDocument({
    number: text,
    seller: {
      legalName: text,
      taxId: text,
      address: text,
      email: text,
      phone: text,
      website,
      bank: { holder: text, iban: text, bic: text },
    },
    buyer: { name: text, taxId: text, address: text, contactName: text },
    lines: lines.map((line) => ({
      ...line,
      sku: text,
      description: text,
      unit: text,
      hsCode: text,
      originCountry: text,
    })),
    trade: { ...trade, incoterm: { code: text, edition: text, place: text }, delivery: text },
    payment: { terms: text },
    legal: [text],
    notes: text,
  })
}
