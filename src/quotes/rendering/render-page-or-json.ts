// Renders the page or the JSON of a quote as text.
import type { Brand } from '../../company/brand.ts'
import type { OpenLink } from '../links/read-link.ts'
import { renderQuotePage } from '../page/quote-page.ts'
import { canShowInPdf } from '../pdf/pdf-text.ts'
import type { Language } from '../quote-texts/quote-texts.ts'
import type { QuoteDocument, SharedQuote } from '../schema.ts'

/** An open link with its document: the frozen canonical JSON. */
export type OpenQuote = OpenLink & { document: string }

/**
 * `language` is undefined for the language of the quote. `offersReplies` adds links that start an
 * email to the seller. `offersPdf` is false if the PDF failed a short time ago.
 */
export type PageOrJson =
  | { kind: 'json' }
  | { kind: 'html'; language: Language | undefined; offersReplies: boolean; offersPdf: boolean }

/** Returns the bytes of the page or the JSON, without compression. */
export function renderPageOrJson(quote: OpenQuote, wanted: PageOrJson, brand: Brand): Buffer {
  return Buffer.from(
    wanted.kind === 'json'
      ? serializeSharedQuote(quote)
      : renderPageWithLinks(quote, wanted, brand),
  )
}

function renderPageWithLinks(
  openQuote: OpenQuote,
  { language, offersReplies, offersPdf }: PageOrJson & { kind: 'html' },
  brand: Brand,
): string {
  const quote = parseSharedQuote(openQuote)
  // The links are relative because the cached page serves every link to this content. They also
  // work under any host name and base path.
  const hasPdf = offersPdf && canShowInPdf(openQuote.document)
  const links = {
    pdf: hasPdf ? `?format=pdf${language ? `&lang=${language}` : ''}` : null,
    json: '?format=json',
  }
  return renderQuotePage(quote, language ?? quote.document.language, links, {
    brand,
    offersReplies,
  })
}

/** Returns the quote with its document parsed. */
function parseSharedQuote(quote: OpenQuote): SharedQuote {
  const { status, expiresAt, contentHash, document } = quote
  return {
    status,
    link: { expiresAt },
    contentHash,
    document: JSON.parse(document) as QuoteDocument,
  }
}

/**
 * Returns the quote as JSON text. The document is inserted byte for byte as it was frozen, because
 * `contentHash` is the hash of those bytes.
 */
export function serializeSharedQuote(quote: OpenQuote): string {
  const { status, expiresAt, contentHash, document } = quote
  const members = [
    `"status":${JSON.stringify(status)}`,
    `"link":${JSON.stringify({ expiresAt })}`,
    `"contentHash":${JSON.stringify(contentHash)}`,
    `"document":${document}`,
  ]
  return `{${members.join(',')}}`
}
