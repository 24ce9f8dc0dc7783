// What the templates of the quote page and of the error page show.
import type { Language } from '../../company/languages.ts'
import type { ErrorPageName, errorPages } from '../failures.ts'
import type { QuoteTexts } from '../quote-texts/quote-texts-type.ts'
import type { QuoteViewModel } from '../view-model/quote-view-model.ts'
import type { ReplyLink } from '../view-model/reply-links.ts'
import type { buildSellerContact } from '../view-model/seller-contact.ts'

export type TemplateValues = { quote: QuotePageValues; error: ErrorPageValues }

/** What quote-page-template.eta shows. */
export type QuotePageValues = QuoteViewModel & {
  title: string
  /** The kind and number of the document, at the foot of each printed page. */
  printFooter: string
  /** Null if the page offers no PDF. */
  pdfLink: string | null
  /** Whether the columns of numbers need so much width that the table has another layout. */
  hasWideNumbers: boolean
  /** Whether number and total are repeated above the lines. */
  hasStickySummary: boolean
  languages: { code: Language; name: string; isShown: boolean }[]
  /** CSS with the colours of the company. */
  brandStyle: string | null
  /** A data URI. */
  logo: string | null
  replies: ReplyLink[]
}

/** What error-page-template.eta shows. */
export type ErrorPageValues = {
  title: string
  explanation: string
  action: (typeof errorPages)[ErrorPageName]['action']
  pageLink: string
  pdfLink: string
  texts: QuoteTexts
  language: Language
  contact: ReturnType<typeof buildSellerContact> | null
}
