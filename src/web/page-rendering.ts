// Renders the pages / and /dashboard as HTML.
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import type { Company } from '../company/company-file.ts'
import { getInitials } from '../company/company-initials.ts'
import { type Language, textsByLanguage } from '../texts/languages.ts'
import { createHomeCodeSamples, type HomeOptions } from './home/home-code-samples.ts'
import { listOtherLanguages } from './page-language.ts'
import { linkFile, type StaticPath } from './static-files.ts'

const templates = new Eta({ autoEscape: true, rmWhitespace: true })
for (const [name, file] of Object.entries({
  page: 'page-layout.eta',
  dashboard: 'dashboard/dashboard.eta',
  home: 'home/home.eta',
}))
  templates.loadTemplate(`@${name}`, readFileSync(new URL(file, import.meta.url), 'utf8'))

/** Returns the HTML of the dashboard. Its script loads the statistics with the visitor's key. */
export function renderDashboard(
  { timeZone, seller }: Company,
  { hasSearchReport }: { hasSearchReport: boolean },
  language: Language,
): string {
  const { dashboard: texts, locale } = textsByLanguage[language]
  const title = `${texts.title} · ${seller.legalName}`
  return templates.render('@dashboard', {
    ...createLayoutValues(seller.legalName, language),
    styles: linkFiles('page-theme.css', 'page-layout.css', 'dashboard.css'),
    scripts: linkFiles('dashboard.js'),
    texts,
    title,
    pageData: serializeForScript({
      company: seller.legalName,
      initials: getInitials(seller.legalName),
      timeZone,
      title,
      language,
      locale,
      otherLanguages: listOtherLanguages(language),
      hasSearchReport,
      texts,
    }),
  })
}

/** Returns the HTML of the page /. It embeds the palette as other sites do. */
export function renderHome(
  { seller }: Company,
  home: HomeOptions & { hasDashboard: boolean },
  language: Language,
): string {
  const { home: texts, locale } = textsByLanguage[language]
  return templates.render('@home', {
    ...createLayoutValues(seller.legalName, language),
    ...home,
    styles: linkFiles('page-theme.css', 'page-layout.css', 'home.css'),
    scripts: linkFiles('palette.js', 'home.js'),
    texts,
    title: `${texts.heading} · ${seller.legalName}`,
    quotePath: home.quoteUrl && `quote/share/${home.quoteUrl.split('/').at(-1)}`,
    otherLanguages: listOtherLanguages(language),
    langQuery: `?lang=${language}`,
    keyNote: home.paletteKey
      ? texts.search.keyOfService.replace('{origin}', new URL(home.baseUrl).origin)
      : texts.search.noKey,
    code: createHomeCodeSamples(home, linkFile('palette.js')),
    pageData: serializeForScript({ locale, texts }),
  })
}

function createLayoutValues(company: string, language: Language) {
  return {
    company,
    language,
    initials: getInitials(company),
  }
}

/** Returns paths relative to the page, so that it works below any base URL. */
const linkFiles = (...paths: StaticPath[]) => paths.map(linkFile)

/** Returns JSON for a script element. Escapes <, so that no text can close the element. */
function serializeForScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
