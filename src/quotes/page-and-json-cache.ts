// Renders the page and the JSON of a quote and caches them.

import { createByteLimitedCache } from './byte-limited-cache.ts'
import { renderQuotePage } from './page/quote-page.ts'
import type { Language } from './quote-texts/quote-texts.ts'
import { type OpenLink, parseSharedQuote, serializeSharedQuote } from './read-shared-quote.ts'

const cacheBytes = 16e6

export class PageAndJsonCache {
  readonly #cache = createByteLimitedCache<Buffer>(cacheBytes, ({ length }) => length)

  getJson(link: OpenLink): Buffer {
    return this.#getOrRender(link, 'json', () => serializeSharedQuote(link))
  }

  /** Without a language the page is in the language of the quote. */
  getPage(link: OpenLink, language: Language | undefined): Buffer {
    return this.#getOrRender(link, `page ${language}`, () => {
      const quote = parseSharedQuote(link)
      // Relative links work under any host name and base path. They also make the page the same
      // for every link to this content.
      const links = {
        pdf: `?format=pdf${language ? `&lang=${language}` : ''}`,
        json: '?format=json',
      }
      return renderQuotePage(quote, language ?? quote.document.language, links)
    })
  }

  /** The key holds everything that is shown of a link: content, status and expiry. */
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
