// Loads the templates of the quote page and the error page. All texts in them are escaped.
import { Eta } from 'eta'
import { loadPageTemplates } from '../../pages/page-templates.ts'
import { toPlainText } from '../view-model/plain-text.ts'

const escapeHtml = new Eta().config.escapeFunction
const pages = loadPageTemplates(import.meta.url, {
  templates: {
    page: 'quote-page-layout.eta',
    quote: 'quote-page-template.eta',
    error: 'error-page-template.eta',
    contactLink: 'contact-link.eta',
  },
  style: 'quote-page.css',
  escapeFunction: (value) => escapeHtml(toPlainText(String(value))),
  rmWhitespace: true,
})

/** The part of Content-Security-Policy that does not depend on the brand. */
export const pageContentSecurityPolicy = pages.contentSecurityPolicy

/** Returns the HTML of a template: `quote` or `error`. */
export const renderTemplate = pages.render
