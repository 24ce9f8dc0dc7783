// The page at /docs: the OpenAPI document as people read it. Rendered here, once.

import { standalonePage } from '../http/html-page.ts'
import { problemKinds } from '../http/problem-details.ts'
import { codeSamples } from './code-samples.ts'
import type { Operation } from './endpoint-description.ts'
import { markdown } from './markdown.ts'
import { aboutTheApi, type OpenApiDocument } from './openapi-document.ts'
import { fieldsOf, type SchemaNode, typeOf } from './schema-fields.ts'

const { render, contentSecurityPolicy } = standalonePage(import.meta.url, {
  templates: { docs: 'docs-page.eta', fields: 'docs-page-fields.eta' },
  style: 'docs-page.css',
  rmWhitespace: false,
})

/** Value of Content-Security-Policy for the page. */
export const docsContentSecurityPolicy = contentSecurityPolicy

type Examples = Record<string, { summary: string; value: unknown }>
type Described = {
  operationId: string
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters: {
    name: string
    in: string
    description: string
    required: boolean
    schema: SchemaNode
    example?: unknown
  }[]
  responses: Record<
    string,
    {
      description: string
      headers?: Record<string, unknown>
      content?: Record<string, { schema: SchemaNode; examples?: Examples }>
    }
  >
}

/** The whole HTML document. `hasDocument`: /openapi.json is there to link to. */
export function renderDocs(
  document: OpenApiDocument,
  { tries, hasDocument }: { tries: Operation['tries']; hasDocument: boolean },
): string {
  const base = document.servers[0]?.url ?? ''
  const { schemas, headers } = document.components
  const operations = Object.entries(document.paths).map(([path, { get }]) => {
    const { operationId, summary, description, security, parameters, responses } =
      get as unknown as Described
    return {
      id: operationId,
      path,
      summary,
      description: markdown(description),
      isOpen: security.length === 0 || security.some((one) => Object.keys(one).length === 0),
      tries: tries
        .filter(({ address }) => address.startsWith(path))
        .map(({ address, shows }) => ({ address, url: base + address, shows })),
      parameters: parameters.map(({ schema, ...parameter }) => ({
        ...parameter,
        type: typeOf(schema),
        html: markdown(parameter.description),
      })),
      samples: codeSamples(base, path, operationId),
      responses: Object.entries(responses).map(
        ([status, { description, headers: names = {}, content = {} }]) => ({
          status,
          description: markdown(description),
          headers: Object.keys(names).map((name) => ({
            name,
            description: headers[name]?.description,
          })),
          bodies: Object.entries(content).map(([type, { schema, examples = {} }]) => ({
            type,
            // What an error looks like is said once, under Errors.
            fields: type === 'application/json' ? fieldsOf(schema, schemas) : [],
            examples: Object.values(examples).map(({ summary, value }) => ({
              summary,
              text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
            })),
          })),
        }),
      ),
    }
  })
  const { title, summary, conventions, authentication, errors, limits } = aboutTheApi
  return render('docs', {
    title,
    summary,
    version: (document.info as { version: string }).version,
    base,
    hasDocument,
    operations,
    problemCodes: Object.entries(problemKinds),
    conventions: conventions.map((line) => markdown(line)),
    authentication: markdown(authentication),
    limits: markdown(limits),
    errors: markdown(errors),
    problem: fieldsOf(schemas.Problem as SchemaNode, schemas),
  })
}
