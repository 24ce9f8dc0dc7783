// Caches the rendered page and the JSON of each quote.

import { renderQuotePage } from './page/quote-page.ts'
import type { Language } from './quote-texts/quote-texts.ts'
import { type OpenLink, parseSharedQuote, serializeSharedQuote } from './read-shared-quote.ts'
import { createRenderingCache, pageAndJsonCacheBytes } from './rendering-cache-size.ts'

export class PageAndJsonCache {
  readonly #cache = createRenderingCache<Buffer>(pageAndJsonCacheBytes, ({ length }) => length)

  /** Returns the JSON of an open link, cached or rendered now. */
  getJson(link: OpenLink): Buffer {
    return this.#getOrRender(link, 'json', () => serializeSharedQuote(link))
  }

  /** Returns the page of an open link in a language, or in the language of the quote. */
  getPage(link: OpenLink, language: Language | undefined): Buffer {
    return this.#getOrRender(link, `page ${language}`, () => {
      const quote = parseSharedQuote(link)
      // The links are relative because the cached page serves every link to this content. They
      // also work under any host name and base path.
      const links = {
        pdf: `?format=pdf${language ? `&lang=${language}` : ''}`,
        json: '?format=json',
      }
      return renderQuotePage(quote, language ?? quote.document.language, links)
    })
  }

  /** The cache key contains all that a rendering depends on: content, status and expiry. */
  #getOrRender(link: OpenLink, kind: string, render: () => string): Buffer {
    const key = `${link.contentHash} ${link.status} ${link.link.expiresAt} ${kind}`
    let rendering = this.#cache.get(key)
    if (!rendering) {
      rendering = Buffer.from(render())
      this.#cache.set(key, rendering)
    }
    return rendering
  }
}
