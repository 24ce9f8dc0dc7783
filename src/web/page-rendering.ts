// Renders the pages / and /dashboard as HTML.
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import type { Company } from '../company/company-file.ts'
import { getInitials } from '../company/company-initials.ts'
import { type Language, locales } from '../company/languages.ts'
import { dashboardTextsDe } from './dashboard/texts/dashboard-texts-de.ts'
import { dashboardTextsEn } from './dashboard/texts/dashboard-texts-en.ts'
import { type DashboardTexts, dashboardTextsEs } from './dashboard/texts/dashboard-texts-es.ts'
import { dashboardTextsFr } from './dashboard/texts/dashboard-texts-fr.ts'
import { dashboardTextsIt } from './dashboard/texts/dashboard-texts-it.ts'
import { dashboardTextsPt } from './dashboard/texts/dashboard-texts-pt.ts'
import { createHomeCodeSamples, type HomeOptions } from './home/home-code-samples.ts'
import { homeTextsDe } from './home/home-texts-de.ts'
import { homeTextsEn } from './home/home-texts-en.ts'
import { type HomeTexts, homeTextsEs } from './home/home-texts-es.ts'
import { homeTextsFr } from './home/home-texts-fr.ts'
import { homeTextsIt } from './home/home-texts-it.ts'
import { homeTextsPt } from './home/home-texts-pt.ts'
import { listOtherLanguages } from './page-language.ts'
import { linkFile, type StaticPath } from './static-files.ts'

const dashboardTexts: Record<Language, DashboardTexts> = {
  es: dashboardTextsEs,
  en: dashboardTextsEn,
  pt: dashboardTextsPt,
  fr: dashboardTextsFr,
  it: dashboardTextsIt,
  de: dashboardTextsDe,
}
const homeTexts: Record<Language, HomeTexts> = {
  es: homeTextsEs,
  en: homeTextsEn,
  pt: homeTextsPt,
  fr: homeTextsFr,
  it: homeTextsIt,
  de: homeTextsDe,
}

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
  const texts = dashboardTexts[language]
  const title = `${texts.title} · ${seller.legalName}`
  return templates.render('@dashboard', {
    ...createLayoutValues(seller.legalName, language),
    styles: linkFiles('page-theme.css', 'page-layout.css', 'dashboard.css'),
    scripts: linkFiles('dashboard.js'),
    otherLanguages: listOtherLanguages(language),
    texts,
    title,
    hasSearchReport,
    pageData: serializeForScript({ language, locale: locales[language], timeZone, title, texts }),
  })
}

/** Returns the HTML of the page /. It embeds the palette as other sites do. */
export function renderHome(
  { seller }: Company,
  home: HomeOptions & { hasDashboard: boolean },
  language: Language,
): string {
  const texts = homeTexts[language]
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
    pageData: serializeForScript({ locale: locales[language], texts }),
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
