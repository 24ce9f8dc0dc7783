// The pages for browsers, / and /dashboard: templates, and the policy that lets nothing in but their own files.
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import { type DashboardWords, dashboardWords, type Language } from './wording.ts'

/** What a page says about whose it is. */
export type Owner = { legalName: string; timeZone: string }

const beside = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

const templates = new Eta({ autoEscape: true, rmWhitespace: true })
for (const name of ['page', 'dashboard']) templates.loadTemplate(`@${name}`, beside(`${name}.eta`))

/** The files of the dashboard, those that load others first; the page names them all, so that the browser asks for all of them at once. */
export const dashboardFiles = {
  styles: ['page.css', 'dashboard.css'],
  scripts: [
    'dashboard/dashboard.js',
    'dashboard/breakdowns.js',
    'dashboard/chart.js',
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
export function renderDashboard({ legalName, timeZone }: Owner, language: Language): string {
  const words: DashboardWords = dashboardWords[language]
  const [first = '', ...others] = dashboardFiles.scripts
  const title = `${words.title} · ${legalName}`
  return templates.render('@dashboard', {
    name: 'dashboard',
    language,
    otherLanguage: language === 'es' ? 'en' : 'es',
    words,
    title,
    company: legalName,
    initials: initialsOf(legalName),
    styles: addresses(dashboardFiles.styles),
    scripts: addresses([first]),
    modules: addresses(others),
    given: jsonInHtml({ language, timeZone, title, words }),
  })
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
