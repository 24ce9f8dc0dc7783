// The OpenAPI description of GET /quote/share/{token}.
import type { Operation } from '../api-docs/endpoint-description.ts'
import { misdirectedRequest, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { quoteLinkPath, toOpenApiPath } from '../http/endpoint-paths.ts'
import { languages } from '../texts/languages.ts'
import { type FailureReason, QuoteFailure } from './failures.ts'
import { describeFailure } from './responses.ts'
import { LinkedQuote, QuoteDocument, QuoteLine } from './schema.ts'

const description = `
The quote (*presupuesto*) that a customer opens from a link, without logging in: the token is the
secret. The response is a page by default. Request JSON or a PDF with \`Accept\` or \`?format=\`.

* The content of a link is frozen when the link is created, and \`contentHash\` proves it. Only
  \`status\` and \`link\` show the current state.
* The page and the PDF show a bank account only if the quote is sent or accepted.
* An unknown or malformed link, a draft and a deleted quote return the same 404. An expired or
  revoked link returns 410 with the seller's contact and nothing of the quote.
* Unknown parameters are ignored, because email tools append their own. A repeated parameter counts
  once, with its first value.
* A request for the page gets errors as a page, in its language.
`.trim()

const toEuros = (amount: string) => ({ amount, currency: 'EUR' })

export const exampleQuote: LinkedQuote = {
  status: 'sent',
  link: { expiresAt: '2026-12-20T23:00:00.000Z' },
  contentHash: 'a3f1c02b9d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd',
  document: {
    number: 'P-2026-17',
    version: 1,
    issuedOn: '2026-11-20',
    validUntil: '2026-12-20',
    language: 'es',
    currency: 'EUR',
    seller: {
      legalName: 'Ferretería de Ejemplo, S.L.',
      taxId: 'ESB00000000',
      address: 'Calle del Ejemplo, 1\n28000 Madrid',
      email: 'ventas@empresa.example',
      phone: '+34 900 000 000',
      website: 'https://empresa.example',
      bank: { holder: 'Ferretería de Ejemplo, S.L.', iban: 'ES9121000418450200051332', bic: null },
    },
    buyer: {
      name: 'Comercial El Ejemplo, S.A.',
      taxId: 'ESA00000000',
      address: null,
      contactName: 'Compras',
    },
    lines: [
      {
        position: 1,
        sku: 'AB-742-X',
        description: 'Martillo de bola 300 g',
        quantity: '100',
        unit: 'C62',
        unitPrice: toEuros('12.50'),
        discountPercent: '5',
        taxRate: '21',
        surchargeRate: null,
        hsCode: '820520',
        originCountry: 'ES',
        net: toEuros('1187.50'),
      },
    ],
    totals: {
      net: toEuros('1187.50'),
      discounts: toEuros('62.50'),
      taxes: [
        {
          rate: '21',
          surchargeRate: null,
          base: toEuros('1187.50'),
          amount: toEuros('249.38'),
          surchargeAmount: null,
        },
      ],
      gross: toEuros('1436.88'),
    },
    trade: {
      incoterm: { code: 'DAP', edition: '2020', place: 'Zaragoza' },
      delivery: 'En 10 días',
    },
    payment: { terms: '30 días' },
    legal: ['Precios válidos salvo error u omisión.'],
    notes: null,
  },
}

function getExampleDetail(reason: FailureReason): string {
  const { seller } = exampleQuote.document
  return describeFailure(new QuoteFailure(reason), seller, null).problem.message
}

const htmlPage = { 'text/html': { schema: { type: 'string' as const } } }

export const quoteOperation: Operation = {
  path: toOpenApiPath(quoteLinkPath),
  id: 'openSharedQuote',
  summary: 'A quote opened from a link: a page, JSON or PDF',
  description,
  scope: null,
  parameters: [
    {
      name: 'token',
      in: 'path',
      description: 'The 43 characters of the link',
      required: true,
      schema: { type: 'string' },
      example: 'VuPZpIvrnl30RTbwLJf1DFABSeIdSAJ1d2QHJhIbKbw',
    },
    {
      name: 'format',
      in: 'query',
      description: 'Overrides the Accept header. Default: html',
      required: false,
      schema: { type: 'string', enum: ['html', 'json', 'pdf'] },
      example: 'json',
    },
    {
      name: 'lang',
      in: 'query',
      description:
        'Language of the page and the PDF. Capitals and regions (`de-AT`) are accepted, and an ' +
        'unknown language is ignored. Default: the language of the quote',
      required: false,
      schema: { type: 'string', enum: languages },
    },
  ],
  responses: {
    200: {
      description: 'The quote',
      headers: withHeaders('vary', 'content-disposition'),
      content: {
        'application/json': {
          schema: LinkedQuote,
          examples: { quote: { summary: 'A quote with one line', value: exampleQuote } },
        },
        ...htmlPage,
        'application/pdf': { schema: { type: 'string', contentMediaType: 'application/pdf' } },
      },
    },
    ...problemResponses(
      {
        not_found: getExampleDetail('unknown_link'),
        not_acceptable: getExampleDetail('not_acceptable'),
        link_expired: getExampleDetail('link_expired'),
        link_revoked: getExampleDetail('link_revoked'),
        rate_limited:
          'Too many unknown links from your address: the limit is 10 per minute. ' +
          'Try again in 24 seconds.',
        misdirected_request: misdirectedRequest,
        unavailable: getExampleDetail('database_unreadable'),
        internal_error: 'The request failed. The reason is in the log, under this requestId.',
      },
      htmlPage,
    ),
  },
  schemas: { SharedQuote: LinkedQuote, QuoteDocument, QuoteLine },
}
