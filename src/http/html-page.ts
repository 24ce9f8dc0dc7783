// Pages that stand alone: filled in here, with one style sheet inside, under a policy that lets nothing else in. No script, nothing from elsewhere.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Eta, type EtaConfig } from 'eta'

const look = readFileSync(new URL('page-theme.css', import.meta.url), 'utf8')

/**
 * Templates, by name, and a style sheet that stand beside the file `here`, an `import.meta.url`. `render` fills a template and gives it, as `style`,
 * the look of all pages with that sheet; `contentSecurityPolicy` lets in just this style: nothing else is run, loaded, framed or submitted.
 */
export function standalonePage(
  here: string,
  {
    templates,
    style,
    ...config
  }: { templates: Record<string, string>; style: string } & Partial<EtaConfig>,
) {
  const beside = (file: string) => readFileSync(new URL(file, here), 'utf8')
  const eta = new Eta(config)
  for (const [name, file] of Object.entries(templates)) eta.loadTemplate(`@${name}`, beside(file))
  // Comments and indentation are for those who edit it.
  const sheet = (look + beside(style)).replace(/\/\*[\s\S]*?\*\//g, '').replace(/\s+/g, ' ')
  return {
    contentSecurityPolicy: [
      "default-src 'none'",
      `style-src 'sha256-${createHash('sha256').update(sheet).digest('base64')}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    render: (name: string, values: object): string =>
      eta.render(`@${name}`, { ...values, style: sheet }),
  }
}
