// Renders the page or the JSON of a quote as text.
import type { Brand } from '../../company/brand.ts'
import { renderQuotePage } from '../page/quote-page.ts'
import { canShowInPdf } from '../pdf/pdf-text.ts'
import type { Language } from '../quote-texts/quote-texts.ts'
import { type OpenQuote, parseSharedQuote, serializeSharedQuote } from '../read-shared-quote.ts'

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
