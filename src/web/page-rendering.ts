// The pages for browsers, / and /dashboard: templates, and the policy that lets nothing in but their own files.
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import type { Company } from '../company/company.ts'
import { dashboardWords, type Language } from './dashboard/dashboard-texts.ts'
import { homeWords } from './home/home-texts.ts'

const beside = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

const templates = new Eta({ autoEscape: true, rmWhitespace: true })
for (const [name, file] of Object.entries({
  page: 'page-layout.eta',
  dashboard: 'dashboard/dashboard.eta',
  home: 'home/home.eta',
}))
  templates.loadTemplate(`@${name}`, beside(file))

/** The files of the dashboard, those that load others first; the page names them all, so that the browser asks for all of them at once. */
export const dashboardFiles = {
  styles: ['look.css', 'page.css', 'dashboard.css'],
  scripts: [
    'dashboard/dashboard.js',
    'dashboard/breakdowns.js',
    'dashboard/chart.js',
    'dashboard/choices.js',
    'dashboard/country-choice.js',
    'dashboard/csv-link.js',
    'dashboard/day-fields.js',
    'dashboard/decimal.js',
    'dashboard/elements.js',
    'dashboard/figures.js',
    'dashboard/filters.js',
    'dashboard/format.js',
    'dashboard/freshness.js',
    'dashboard/months.js',
    'dashboard/page.js',
    'dashboard/session-key.js',
    'dashboard/summary.js',
    'dashboard/trouble.js',
  ],
}

/** The files of the page /; its palette is the one that others embed. */
export const homeFiles = {
  styles: ['look.css', 'page.css', 'home.css'],
  scripts: [
    'home/home.js',
    'palette/palette.js',
    'dashboard/chart.js',
    'dashboard/elements.js',
    'dashboard/format.js',
  ],
}

/**
 * Value of Content-Security-Policy of both pages: scripts, styles and requests of this service only, nothing inline, framed or submitted. Text is put
 * into the page as text only: what would parse it as markup throws.
 */
export const webContentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

// Relative to the page: they hold under whatever name and path the service is reached.
const addresses = (names: string[]) => names.map((name) => `web/${name}`)

/** The whole HTML document of the dashboard. The figures are not in it: they come from /api/stats, with the visitor's own right to see them. */
export function renderDashboard(
  { timeZone, seller: { legalName } }: Company,
  language: Language,
): string {
  const words = dashboardWords[language]
  const title = `${words.title} · ${legalName}`
  const given = { language, timeZone, title, words }
  return templates.render('@dashboard', {
    ...common('dashboard', legalName, language, dashboardFiles),
    words,
    title,
    given: jsonInHtml(given),
  })
}

export type Home = {
  /** Where callers reach the service, for the code to copy. */
  baseUrl: string
  anonymousScopes: readonly string[]
  hasDashboard: boolean
  /** A publishable key for the palette, and the link of a quote: both are seen by everybody who opens the page. */
  paletteKey: string | null
  quoteUrl: string | null
}

/** The whole HTML document of the page /. */
export function renderHome(
  { seller: { legalName } }: Company,
  home: Home,
  language: Language,
): string {
  const words = homeWords[language]
  return templates.render('@home', {
    ...common('home', legalName, language, homeFiles),
    ...home,
    words,
    title: `${words.heading} · ${legalName}`,
    quotePath: home.quoteUrl && `quote/share/${home.quoteUrl.split('/').at(-1)}`,
    langQuery: `?lang=${language}`,
    code: codeOf(home, words.search.yourKey),
    given: jsonInHtml({ language, words }),
  })
}

function common(
  name: string,
  company: string,
  language: Language,
  { styles, scripts }: typeof dashboardFiles,
) {
  const [first = '', ...others] = scripts
  return {
    name,
    company,
    language,
    otherLanguage: language === 'es' ? 'en' : 'es',
    initials: initialsOf(company),
    styles: addresses(styles),
    scripts: addresses([first]),
    modules: addresses(others),
  }
}

/** What somebody copies: whole commands, with the name that the service is reached by. */
function codeOf({ baseUrl, anonymousScopes, paletteKey, quoteUrl }: Home, yourKey: string) {
  const curl = (scope: string, path: string) =>
    `curl ${anonymousScopes.includes(scope) ? '' : "-H 'Authorization: Bearer tqs_…' "}'${baseUrl}${path}'`
  // The page puts in the year that it shows.
  const year = new Date().getFullYear()
  const link = quoteUrl ?? `${baseUrl}/quote/share/…`
  return {
    tag: `<script type="module" src="${baseUrl}/web/palette.js"></script>\n<product-palette endpoint="${baseUrl}" key="${paletteKey ?? yourKey}"></product-palette>`,
    search: curl('search:read', '/api/search?q=jumbo+strage+bag'),
    stats: curl(
      'stats:read',
      `/api/stats?from=${year}-01-01&to=${year}-12-31&compare=previous_year`,
    ),
    quote: quoteUrl
      ? `curl '${link}?format=json'\ncurl -O -J '${link}?format=pdf'`
      : `scripts/run share create P-2026-001\ncurl '${link}?format=json'`,
  }
}

/** JSON that can stand in a script element: no text of it closes the element. */
function jsonInHtml(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}

/** The first letters of the first two words. */
function initialsOf(name: string): string {
  return [...name.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)]
    .slice(0, 2)
    .map(([letter]) => letter.toUpperCase())
    .join('')
}
