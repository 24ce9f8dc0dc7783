// Renders the pages / and /dashboard as HTML.
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import type { Company } from '../company/company-file.ts'
import { getInitials } from '../company/company-initials.ts'
import { type Language, languages, textsByLanguage } from '../texts/languages.ts'
import { type LinkedFile, linkFile, type StaticPath } from './static-files.ts'

export type HomeOptions = {
  /** The public URL of the service, for the code samples. */
  baseUrl: string
  /** The scopes of callers without a key. */
  anonymousScopes: readonly string[]
  /** A publishable key for the palette. Every visitor can see it. */
  paletteKey: string | null
  /** The link to a quote. Every visitor can open it. */
  quoteUrl: string | null
  /** Whether /docs is served and can be linked to. */
  hasDocs: boolean
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
  const { dashboard: texts, locale } = textsByLanguage[language]
  const title = `${texts.title} · ${seller.legalName}`
  const layout = createLayoutValues(seller.legalName, language)
  return templates.render('@dashboard', {
    ...layout,
    styles: linkFiles('page-theme.css', 'page-layout.css', 'dashboard.css'),
    scripts: linkFiles('dashboard.js'),
    texts,
    title,
    pageData: serializeForScript({
      ...layout,
      timeZone,
      title,
      locale,
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
    langQuery: `?lang=${language}`,
    keyNote: home.paletteKey
      ? texts.search.keyOfService.replace('{origin}', new URL(home.baseUrl).origin)
      : texts.search.noKey,
    code: createCodeSamples(home, linkFile('palette.js')),
    pageData: serializeForScript({ locale, texts }),
  })
}

/** What the layout of both pages needs, and the links to the page in the other languages. */
function createLayoutValues(company: string, language: Language) {
  const otherLanguages = languages
    .filter((other) => other !== language)
    .map((code) => ({ code, name: textsByLanguage[code].name }))
  return { company, language, initials: getInitials(company), otherLanguages }
}

/** The code samples of the page /: complete commands with the public URL of the service. */
function createCodeSamples(
  { baseUrl, anonymousScopes, paletteKey, quoteUrl }: HomeOptions,
  palette: LinkedFile,
) {
  const curl = (scope: string, path: string) => {
    const header = anonymousScopes.includes(scope) ? '' : "-H 'Authorization: Bearer tqs_…' "
    return `curl ${header}'${baseUrl}${path}'`
  }
  const link = quoteUrl ?? `${baseUrl}/quote/share/…`
  return {
    pinnedTag:
      `<script type="module" src="${baseUrl}/${palette.path}"\n` +
      `  integrity="${palette.integrity}"></script>`,
    tag:
      `<script type="module" src="${baseUrl}/web/palette.js"></script>\n` +
      `<product-palette endpoint="${baseUrl}" api-key="${paletteKey ?? 'tqp_…'}">` +
      '</product-palette>',
    createKey:
      'scripts/run api-key create --kind publishable --name "Internal tool" \\\n' +
      '  --origins https://tool.example.com',
    search: curl('search:read', '/api/search?q=jumbo+strage+bag'),
    stats: curl('stats:read', '/api/stats'),
    quote: quoteUrl
      ? `curl '${link}?format=json'\ncurl -O -J '${link}?format=pdf'`
      : `scripts/run share create P-2026-001\ncurl '${link}?format=json'`,
  }
}

/** Returns paths relative to the page, so that it works below any base URL. */
const linkFiles = (...paths: StaticPath[]) => paths.map(linkFile)

/** Returns JSON for a script element. Escapes <, so that no text can close the element. */
function serializeForScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
