// Renders HTML pages without scripts or external files, with one inline style sheet.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { Eta, type EtaConfig } from 'eta'

const pageTheme = readFileSync(new URL('page-theme.css', import.meta.url), 'utf8')

/**
 * Returns a renderer of Eta templates with one style sheet. File names are relative to `baseUrl`,
 * which is the `import.meta.url` of the caller. `render` passes the page theme and the style sheet
 * to the template as `style`. `contentSecurityPolicy` allows this style and nothing else.
 */
export function createPageRenderer(
  baseUrl: string,
  {
    templates,
    style,
    ...etaConfig
  }: { templates: Record<string, string>; style: string } & Partial<EtaConfig>,
) {
  const readText = (file: string) => readFileSync(new URL(file, baseUrl), 'utf8')
  const eta = new Eta(etaConfig)
  for (const [name, file] of Object.entries(templates)) eta.loadTemplate(`@${name}`, readText(file))
  const css = minifyCss(pageTheme + readText(style))
  return {
    contentSecurityPolicy: [
      "default-src 'none'",
      `style-src 'sha256-${createHash('sha256').update(css).digest('base64')}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    render: (name: string, values: object): string =>
      eta.render(`@${name}`, { ...values, style: css }),
  }
}

/** Returns the style sheet without comments and unnecessary whitespace. */
export function minifyCss(css: string): string {
  return transformSync(css, { loader: 'css', minify: true }).code
}
