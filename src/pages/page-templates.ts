// Loads templates of HTML pages that need no other files: each page contains its style sheet and at
// most one script.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { Eta, type EtaConfig } from 'eta'
import { bundleScript } from './bundle-script.ts'

const pageTheme = readFileSync(new URL('page-theme.css', import.meta.url), 'utf8')

/**
 * Loads Eta templates that share a style sheet and an optional script. File names are relative to
 * `baseUrl`, the `import.meta.url` of the caller. Returns `render`, which passes the page theme and
 * the style sheet to the template as `style`, and the bundled script as `script`. Also returns
 * `buildContentSecurityPolicy`: its policy allows only these two, further inline `styles` and data
 * URIs of images. On a page with a script it also prevents the script from turning text into markup
 * or code (trusted types).
 */
export function loadPageTemplates(
  baseUrl: string,
  {
    templates,
    style,
    script,
    ...etaConfig
  }: { templates: Record<string, string>; style: string; script?: string } & Partial<EtaConfig>,
) {
  const readText = (file: string) => readFileSync(new URL(file, baseUrl), 'utf8')
  const eta = new Eta(etaConfig)
  for (const [name, file] of Object.entries(templates)) eta.loadTemplate(`@${name}`, readText(file))
  const css = minifyCss(pageTheme + readText(style))
  const code = script === undefined ? '' : bundleScript(new URL(script, baseUrl))
  return {
    buildContentSecurityPolicy: (styles: string[] = []): string =>
      [
        "default-src 'none'",
        `style-src ${[...styles, css].map(toHashSource).join(' ')}`,
        ...(code === '' ? [] : [`script-src ${toHashSource(code)}`]),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        ...(code === '' ? [] : ["require-trusted-types-for 'script'", "trusted-types 'none'"]),
        'img-src data:',
      ].join('; '),
    render: (name: string, values: object): string =>
      eta.render(`@${name}`, { ...values, style: css, script: code }),
  }
}

function toHashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

export function minifyCss(css: string): string {
  return transformSync(css, { loader: 'css', minify: true }).code
}
