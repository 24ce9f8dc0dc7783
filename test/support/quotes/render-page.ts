// Renders the page of a quote with the usual options of the service.
import { defaultBrand } from '../../../src/company/brand.ts'
import type { Locale } from '../../../src/quotes/formats.ts'
import { type PageOptions, renderQuotePage } from '../../../src/quotes/page/quote-page.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'

/** Returns the HTML of a quote. By default its company has no logo, and customers may reply. */
export function renderPage(
  quote: LinkedQuote,
  language: Locale,
  pdfLink: string | null,
  options: Partial<PageOptions> = {},
): string {
  return renderQuotePage(quote, language, pdfLink, {
    brand: defaultBrand,
    offersReplies: true,
    timeZone: 'UTC',
    ...options,
  })
}
