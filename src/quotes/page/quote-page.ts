// Renders the pages and the JSON of quotes, and the pages of errors. `<%= %>` in a template escapes
// a value. Only markup, styles and the logo are inserted as they are, with `<%~ %>`.
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  constants,
  gzip,
  gzipSync,
} from 'node:zlib'
import { Eta } from 'eta'
import type { Brand } from '../../company/brand.ts'
import { loadPageTemplates } from '../../pages/page-templates.ts'
import { type Language, languages, textsByLanguage } from '../../texts/languages.ts'
import { type ErrorPageName, errorPageActions } from '../failures.ts'
import { chooseLocale, type Locale, toPlainText, truncatePlainText } from '../formats.ts'
import type { OpenLink } from '../links/read-link.ts'
import { findUnprintableInDocument } from '../pdf/pdf-text.ts'
import type { Format } from '../requested-representation.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { buildReplyLinks } from '../view-model/contact-links.ts'
import { sumColumnWidths } from '../view-model/line-and-total-tables.ts'
import { buildQuoteViewModel, buildSellerContact } from '../view-model/quote-view-model.ts'

/** What a page and JSON show. `documentJson` is the document as it was frozen: canonical JSON. */
export type QuoteToRender = Pick<OpenLink, 'quoteStatus' | 'expiresAt' | 'contentHash'> & {
  documentJson: string
}

export type Variant = {
  format: Format
  /** Null for the language of the quote. */
  language: Locale | null
  /** For pages. False if the PDF failed a short time ago. */
  offersPdf: boolean
}

export function renderPageOrJson(
  quote: QuoteToRender,
  { format, language, offersPdf }: Variant,
  options: PageOptions,
): Buffer {
  if (format === 'json') return Buffer.from(serializeLinkedQuote(quote))
  const { quoteStatus: status, expiresAt, contentHash, documentJson } = quote
  const document = JSON.parse(documentJson) as QuoteDocument
  // The link is relative, so the cached page works under any host name and base path, and does not
  // contain the token.
  const hasPdf = offersPdf && findUnprintableInDocument(documentJson).length === 0
  const pdfLink = hasPdf ? `?format=pdf${language ? `&lang=${language}` : ''}` : null
  const linkedQuote = { status, link: { expiresAt }, contentHash, document }
  return Buffer.from(
    renderQuotePage(linkedQuote, chooseLocale(language, document), pdfLink, options),
  )
}

/**
 * Returns the quote as JSON text. The document is inserted byte for byte as it was frozen, because
 * `contentHash` is the hash of those bytes.
 */
export function serializeLinkedQuote(quote: QuoteToRender): string {
  const { quoteStatus, expiresAt, contentHash, documentJson } = quote
  const members = [
    `"status":${JSON.stringify(quoteStatus)}`,
    `"link":${JSON.stringify({ expiresAt })}`,
    `"contentHash":${JSON.stringify(contentHash)}`,
    `"document":${documentJson}`,
  ]
  return `{${members.join(',')}}`
}

/**
 * The maximum total width of the columns of numbers, in characters of about 9 px. Wider columns
 * would leave too little width for the description in a table of 42rem.
 */
const maxPageNumericColumnsWidth = 42
/** Wider columns are never in a table, because it would not fit the widest page. */
const maxTableNumericColumnsWidth = 60

/** With more lines, which fill over two screens, a page repeats number and total above them. */
const maxLinesWithoutStickySummary = 25

/** The maximum length of the number at the foot of each printed page, in characters. */
const maxPrintFooterNumberLength = 60

export type PageOptions = {
  brand: Brand
  /** Whether pages have links that start an email to the seller. */
  offersReplies: boolean
  /** Of the company. */
  timeZone: string
}

/** Returns the complete HTML document of a quote. Without `pdfLink` it has no PDF button. */
export function renderQuotePage(
  linkedQuote: LinkedQuote,
  locale: Locale,
  pdfLink: string | null,
  { brand, offersReplies, timeZone }: PageOptions,
): string {
  const quote = buildQuoteViewModel(linkedQuote, locale, timeZone)
  const isLong = quote.lines.length > maxLinesWithoutStickySummary
  const numbersWidth = sumColumnWidths(quote.columns)
  return templates.render('quote', {
    ...quote,
    title: `${quote.texts.quote} ${quote.number} · ${quote.seller.legalName}`,
    printFooter: `${quote.texts.quote} ${truncatePlainText(quote.number, maxPrintFooterNumberLength)}`,
    pdfLink,
    hasWideNumbers: numbersWidth > maxPageNumericColumnsWidth,
    hasNoTable: numbersWidth > maxTableNumericColumnsWidth,
    hasStickySummary: isLong,
    // Style sheets cannot show a running total at the foot of a printed page, so each line has one.
    printsRunningTotals: isLong,
    languages: languages.map((code) => ({
      code,
      name: textsByLanguage[code].name,
      isShown: code === quote.language,
    })),
    brandStyle: buildBrandStyle(brand),
    logo: buildLogoUri(brand),
    replies: offersReplies ? buildReplyLinks(linkedQuote, quote.gross, quote.language) : [],
  })
}

/** Few entries: one for each page, language and ?lang=, with and without the contact. */
const errorPageCache = new Map<string, string>()

type ErrorPageOptions = {
  name: ErrorPageName
  language: Language
  /** The language of ?lang=, which the links to the quote keep. */
  requestedLanguage?: Language | null
  /** The seller, if the page shows whom to ask for another link. */
  contact: { legalName: string; email: string; phone: string } | null
}

/**
 * Returns the complete HTML document of an error, which shows nothing of the quote. Pages are
 * cached, because the service sends many of them under overload.
 */
export function renderErrorPage({
  name,
  language,
  requestedLanguage = null,
  contact,
}: ErrorPageOptions): string {
  const lang = requestedLanguage ? `&lang=${requestedLanguage}` : ''
  const key = `${name} ${language} ${lang} ${contact && JSON.stringify(contact)}`
  const rendered = errorPageCache.get(key)
  if (rendered !== undefined) return rendered
  const texts = textsByLanguage[language].quotes
  const page = templates.render('error', {
    ...texts.errors[name],
    action: errorPageActions[name],
    pageLink: `?format=html${lang}`,
    texts,
    language,
    contact: contact && buildSellerContact(contact),
  })
  errorPageCache.set(key, page)
  return page
}

const logoMediaTypes = { svg: 'image/svg+xml', png: 'image/png' }

function buildBrandStyle({ accent }: Brand): string | null {
  if (!accent) return null
  const variables = (color: string, onColor: string) =>
    `:root{--accent:${color};--on-accent:${onColor}}`
  return (
    variables(accent.light, accent.onLight) +
    `@media screen and (prefers-color-scheme:dark){${variables(accent.dark, accent.onDark)}}`
  )
}

/** Returns the logo as a data URI, or null. Browsers run no scripts in images. */
function buildLogoUri({ logo }: Brand): string | null {
  return logo && `data:${logoMediaTypes[logo.type]};base64,${logo.data}`
}

const escapeHtml = new Eta().config.escapeFunction
const templates = loadPageTemplates(import.meta.url, {
  templates: {
    page: 'quote-page-layout.eta',
    quote: 'quote-page-template.eta',
    error: 'error-page-template.eta',
    contactLink: 'contact-link.eta',
    pdfButton: 'pdf-button.eta',
  },
  style: 'quote-page.css',
  escapeFunction: (value) => escapeHtml(toPlainText(String(value))),
  rmWhitespace: true,
})

/**
 * Returns the Content-Security-Policy of the pages. It allows their style sheets and data URIs of
 * images. The empty favicon is such an image. Without it, browsers would request /favicon.ico and
 * log that the policy forbids it.
 */
export function buildContentSecurityPolicy(brand: Brand): string {
  const brandStyle = buildBrandStyle(brand)
  return templates.buildContentSecurityPolicy(brandStyle === null ? [] : [brandStyle])
}

/** A page or JSON. `identity` is missing in large content: decodeContent then decompresses `br`. */
export type EncodedContent = { identity?: Buffer; gzip: Buffer; br: Buffer }

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Compresses in the thread pool. */
export async function compress(identity: Buffer): Promise<EncodedContent> {
  const [gzipped, br] = await Promise.all([
    promisify(gzip)(identity),
    promisify(brotliCompress)(identity, brotliOptions),
  ])
  return { identity, gzip: gzipped, br }
}

/** Compresses large content, and blocks this thread. */
export function compressSync(content: Buffer): EncodedContent {
  return { gzip: gzipSync(content), br: brotliCompressSync(content, brotliOptions) }
}

export async function decodeContent({ identity, br }: EncodedContent): Promise<Buffer> {
  return identity ?? (await promisify(brotliDecompress)(br))
}
