// Caches the rendered page and the JSON of each quote.

import { renderQuotePage } from './page/quote-page.ts'
import type { Language } from './quote-texts/quote-texts.ts'
import {
  type OpenLink,
  type OpenQuote,
  parseSharedQuote,
  serializeSharedQuote,
} from './read-shared-quote.ts'
import { createRenderingCache, pageAndJsonCacheBytes } from './rendering-cache-size.ts'

/** `language` is undefined for the language of the quote. */
export type PageOrJson = { kind: 'json' } | { kind: 'html'; language: Language | undefined }

export class PageAndJsonCache {
  readonly #cache = createRenderingCache<Buffer>(pageAndJsonCacheBytes, ({ length }) => length)

  /** Returns the rendering of an open link, or undefined if it is not cached. */
  getCached(link: OpenLink, wanted: PageOrJson): Buffer | undefined {
    return this.#cache.get(getCacheKey(link, wanted))
  }

  /** Renders the page or JSON of a quote and caches it. */
  render(quote: OpenQuote, wanted: PageOrJson): Buffer {
    const rendering = Buffer.from(
      wanted.kind === 'json' ? serializeSharedQuote(quote) : renderPage(quote, wanted.language),
    )
    this.#cache.set(getCacheKey(quote, wanted), rendering)
    return rendering
  }
}

function renderPage(openQuote: OpenQuote, language: Language | undefined): string {
  const quote = parseSharedQuote(openQuote)
  // The links are relative because the cached page serves every link to this content. They also
  // work under any host name and base path.
  const links = {
    pdf: `?format=pdf${language ? `&lang=${language}` : ''}`,
    json: '?format=json',
  }
  return renderQuotePage(quote, language ?? quote.document.language, links)
}

/** The key contains all that a rendering depends on: content, status, expiry and language. */
function getCacheKey(link: OpenLink, wanted: PageOrJson): string {
  const kind = wanted.kind === 'json' ? 'json' : `page ${wanted.language}`
  return `${link.contentHash} ${link.status} ${link.link.expiresAt} ${kind}`
}
