// Loads the templates of the quote page and the error page, and builds their
// Content-Security-Policy. `<%= %>` in a template escapes a value. Only markup, styles and the logo
// of the company are inserted as they are, with `<%~ %>`.
import { Eta } from 'eta'
import type { Brand } from '../../company/brand.ts'
import { loadPageTemplates } from '../../pages/page-templates.ts'
import { toPlainText } from '../view-model/plain-text.ts'
import { buildBrandStyle } from './brand-style.ts'
import type { TemplateValues } from './template-values.ts'

const escapeHtml = new Eta().config.escapeFunction
const pages = loadPageTemplates(import.meta.url, {
  templates: {
    page: 'quote-page-layout.eta',
    quote: 'quote-page-template.eta',
    error: 'error-page-template.eta',
    contactLink: 'contact-link.eta',
    pdfButton: 'pdf-button.eta',
  },
  style: 'quote-page.css',
  escapeFunction: (value) => escapeHtml(toPlainText(String(value))),
  rmWhitespace: true,
})

/**
 * Returns the Content-Security-Policy of the pages. It allows their style sheets and data URIs of
 * images. The empty favicon is such an image. Without it, browsers would request /favicon.ico and
 * log that the policy forbids it.
 */
export function buildContentSecurityPolicy(brand: Brand): string {
  const brandStyle = buildBrandStyle(brand)
  return pages.buildContentSecurityPolicy(brandStyle === null ? [] : [brandStyle])
}

/** Returns the HTML of a template. */
export function renderTemplate<Name extends keyof TemplateValues>(
  name: Name,
  values: TemplateValues[Name],
): string {
  return pages.render(name, values)
}
