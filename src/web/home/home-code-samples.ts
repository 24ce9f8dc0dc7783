// The code samples of the page /: complete commands with the public URL of the service.

import type { LinkedFile } from '../static-files.ts'

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

/** Returns the code samples by feature. `palette` is the current script of the palette. */
export function createHomeCodeSamples(
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
