// The page /docs: Swagger UI shows the OpenAPI document. Everything comes from this service, and
// the page works under a policy that allows no inline script and no inline style.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { CompressedContent } from '../http/compressed-content.ts'
import type { OpenApiDocument } from './openapi-document.ts'

export const docsContentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  // Requests that a reader tries.
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trade quoting service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/colors.css">
</head>
<body>
<div id="docs"></div>
<noscript>This page needs JavaScript. The same document is at /openapi.json.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

// Some texts of Swagger UI have too little contrast to read well (WCAG 2.2 AA asks for 4.5).
const colors = `
.swagger-ui .info a, .swagger-ui a.nostyle, .swagger-ui .renderedMarkdown a { color: #1a5fb4 }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1d5fa8 }
.swagger-ui .info .title small { background: #5a6270 }
.swagger-ui .info .title small.version-stamp { background: #3d6b00 }
.swagger-ui .parameter__name.required::after, .swagger-ui .parameter__name.required span,
.swagger-ui .prop-format { color: #5a6270 }
.swagger-ui .btn.authorize { border-color: #1b6b46; color: #1b6b46 }
.swagger-ui .btn.authorize svg { fill: #1b6b46 }
.swagger-ui .info .renderedMarkdown code, .swagger-ui .markdown code { color: #6b21a8 }
`

/** The page and what it loads. */
export const docsPaths = [
  '/docs',
  '/docs/swagger-ui.css',
  '/docs/colors.css',
  '/docs/swagger-ui-bundle.js',
  '/docs/start.js',
] as const
type DocsPath = (typeof docsPaths)[number]

/** Builds the page for a document, and what it loads. */
export function buildDocsPage(document: OpenApiDocument): Record<DocsPath, CompressedContent> {
  // The files come from @fastify/swagger-ui because the package swagger-ui-dist depends on one that
  // reports installations to a third party.
  const main = createRequire(import.meta.url).resolve('@fastify/swagger-ui')
  const read = (name: string) => readFileSync(join(dirname(main), 'static', name))
  const options = {
    spec: prepareForTrying(document),
    dom_id: '#docs',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    // Else the page asks a service elsewhere to check the document.
    validatorUrl: null,
  }
  const script = 'text/javascript; charset=utf-8'
  const style = 'text/css; charset=utf-8'
  const start = `SwaggerUIBundle(${JSON.stringify(options)})`
  return {
    '/docs': new CompressedContent(Buffer.from(html), 'text/html; charset=utf-8'),
    '/docs/swagger-ui.css': new CompressedContent(read('swagger-ui.css'), style),
    '/docs/colors.css': new CompressedContent(Buffer.from(colors), style),
    '/docs/swagger-ui-bundle.js': new CompressedContent(read('swagger-ui-bundle.js'), script),
    '/docs/start.js': new CompressedContent(Buffer.from(start), script),
  }
}

/**
 * Returns the document for readers who try requests. They go where the page came from, because the
 * policy allows no other place. Swagger UI would send the examples of all parameters at once, so
 * those of optional parameters become a part of their description.
 */
function prepareForTrying(document: OpenApiDocument): OpenApiDocument {
  const copy = structuredClone(document)
  copy.servers = [{ url: '.' }]
  for (const { get } of Object.values(copy.paths))
    for (const parameter of get.parameters as Record<string, unknown>[]) {
      const { name, example, required, description } = parameter
      if (required || name === 'q' || example === undefined) continue
      delete parameter.example
      parameter.description = `${description}\n\nExample: \`${example}\``
    }
  return copy
}
