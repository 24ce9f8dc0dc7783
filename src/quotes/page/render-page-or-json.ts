// Renders the page or the JSON of a quote.
import type { Language } from '../../company/languages.ts'
import type { OpenLink } from '../links/read-link.ts'
import { canShowInPdf } from '../pdf/pdf-text.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { type PageOptions, renderQuotePage } from './quote-page.ts'

/** What a page and JSON show. `documentJson` is the document as it was frozen: canonical JSON. */
export type QuoteToRender = Pick<OpenLink, 'quoteStatus' | 'expiresAt' | 'contentHash'> & {
  documentJson: string
}

/** Which page of a quote, or its JSON. */
export type PageOrJsonVariant =
  | { format: 'json' }
  | {
      format: 'html'
      /** Null for the language of the quote. */
      language: Language | null
      /** False if the PDF failed a short time ago. */
      offersPdf: boolean
    }

/** Returns the bytes of the page or the JSON, without compression. */
export function renderPageOrJson(
  quote: QuoteToRender,
  variant: PageOrJsonVariant,
  options: PageOptions,
): Buffer {
  return Buffer.from(
    variant.format === 'json'
      ? serializeLinkedQuote(quote)
      : renderPageWithLinks(quote, variant, options),
  )
}

function renderPageWithLinks(
  quoteToRender: QuoteToRender,
  { language, offersPdf }: PageOrJsonVariant & { format: 'html' },
  options: PageOptions,
): string {
  const quote = parseLinkedQuote(quoteToRender)
  // The link is relative, so the cached page works under any host name and base path, and does not
  // contain the token.
  const hasPdf = offersPdf && canShowInPdf(quoteToRender.documentJson)
  const pdfLink = hasPdf ? `?format=pdf${language ? `&lang=${language}` : ''}` : null
  return renderQuotePage(quote, language ?? quote.document.language, pdfLink, options)
}

/** Returns the quote with its document parsed. */
function parseLinkedQuote(quote: QuoteToRender): LinkedQuote {
  const { quoteStatus, expiresAt, contentHash, documentJson } = quote
  return {
    status: quoteStatus,
    link: { expiresAt },
    contentHash,
    document: JSON.parse(documentJson) as QuoteDocument,
  }
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
