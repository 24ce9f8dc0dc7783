// Loads the templates of the quote page and the error page. `<%= %>` in them escapes a value. Only
// markup, styles and the logo of the company are inserted as they are, with `<%~ %>`.
import { Eta } from 'eta'
import { loadPageTemplates } from '../../pages/page-templates.ts'
import { toPlainText } from '../view-model/plain-text.ts'
import type { TemplateValues } from './template-values.ts'

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

/** Returns the Content-Security-Policy of the pages, which also allows these inline styles. */
export const buildPagePolicy = pages.buildContentSecurityPolicy

/** Returns the HTML of a template. */
export function renderTemplate<Name extends keyof TemplateValues>(
  name: Name,
  values: TemplateValues[Name],
): string {
  return pages.render(name, values)
}
