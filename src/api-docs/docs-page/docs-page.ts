// Renders /docs from the OpenAPI document, as HTML with one small script.
import { problemKinds } from '../../http/problem-details.ts'
import { loadPageTemplates } from '../../pages/page-templates.ts'
import { apiIntroduction } from '../api-introduction.ts'
import type { Operation } from '../endpoint-description.ts'
import type { OpenApiDocument } from '../openapi-document.ts'
import { createCodeSamples } from './code-samples.ts'
import { type DocsTexts, docsTextsEn } from './docs-texts-en.ts'
import { apiIntroductionEs, docsTextsEs } from './docs-texts-es.ts'
import { renderMarkdown } from './markdown.ts'
import { listResponseFields } from './response-fields.ts'
import { translateDocument, translateText } from './translate-document.ts'
import { describeType, type SchemaNode, type TypeWords } from './type-description.ts'

const { render, buildContentSecurityPolicy } = loadPageTemplates(import.meta.url, {
  templates: {
    docs: 'docs-page.eta',
    parameters: 'parameters.eta',
    responseFields: 'response-fields.eta',
  },
  style: 'docs-page.css',
  script: 'docs-page-script.js',
  rmWhitespace: false,
})

/** The Content-Security-Policy header of the page. */
export const docsContentSecurityPolicy = buildContentSecurityPolicy()

type Schemas = Record<string, SchemaNode>
type Examples = Record<string, { summary: string; value: unknown }>
type ResponseObject = {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, { schema: SchemaNode; examples?: Examples }>
}
type OperationObject = {
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
  responses: Record<string, ResponseObject>
}
type DocsOptions = {
  exampleRequests: Operation['exampleRequests']
  /** Whether /openapi.json is served and can be linked to. */
  hasDocument: boolean
}

/** The languages of the page. The OpenAPI document itself is English. */
export const docsLanguages = ['en', 'es'] as const
export type DocsLanguage = (typeof docsLanguages)[number]

/** Returns the HTML of the page in a language. */
export function renderDocs(
  englishDocument: OpenApiDocument,
  { exampleRequests, hasDocument }: DocsOptions,
  language: DocsLanguage,
): string {
  const isSpanish = language === 'es'
  const texts = isSpanish ? docsTextsEs : docsTextsEn
  const document = isSpanish ? translateDocument(englishDocument) : englishDocument
  const translate = (text: string) => (isSpanish ? translateText(text) : text)
  const baseUrl = document.servers[0]?.url ?? ''
  const { schemas } = document.components
  const { title, summary, conventions, authentication, errors, limits } = isSpanish
    ? apiIntroductionEs
    : apiIntroduction
  const requests = exampleRequests.map(({ path, description }) => ({
    path,
    description: translate(description),
  }))
  return render('docs', {
    language,
    other: isSpanish ? { code: 'en', name: 'English' } : { code: 'es', name: 'Español' },
    texts,
    title,
    summary,
    version: (document.info as { version: string }).version,
    baseUrl,
    hasDocument,
    operations: Object.entries(document.paths).map(([path, { get }]) =>
      createOperationView(path, get as unknown as OperationObject, document, requests, texts),
    ),
    problemCodes: Object.entries(problemKinds).map(([code, { status, title }]) => ({
      code,
      status,
      title: translate(title),
    })),
    conventions: conventions.map(renderMarkdown),
    authentication: renderMarkdown(authentication),
    limits: renderMarkdown(limits),
    errors: renderMarkdown(errors),
    problem: listResponseFields(schemas.Problem as SchemaNode, schemas, texts.types),
  })
}

/** Returns the values of an endpoint for the template. */
function createOperationView(
  path: string,
  operation: OperationObject,
  document: OpenApiDocument,
  exampleRequests: Operation['exampleRequests'],
  { types }: DocsTexts,
) {
  const { operationId, summary, description, security, parameters, responses } = operation
  const baseUrl = document.servers[0]?.url ?? ''
  return {
    id: operationId,
    path,
    summary,
    description: renderMarkdown(description),
    needsKey: security.length > 0 && security.every((schemes) => Object.keys(schemes).length > 0),
    exampleRequests: exampleRequests
      .filter((request) => request.path.startsWith(path))
      .map((request) => ({ ...request, url: baseUrl + request.path })),
    parameters: parameters.map(({ schema, description, ...parameter }) => ({
      ...parameter,
      type: describeType(schema, types),
      description: renderMarkdown(description),
    })),
    samples: createCodeSamples(baseUrl, path, operationId),
    responses: Object.entries(responses).map(([status, response]) => ({
      status,
      ...createResponseView(response, document.components, types),
    })),
  }
}

function createResponseView(
  { description, headers = {}, content = {} }: ResponseObject,
  components: { schemas: Schemas; headers: Record<string, { [key: string]: unknown }> },
  types: TypeWords,
) {
  return {
    description: renderMarkdown(description),
    headers: Object.keys(headers).map((name) => ({
      name,
      description: components.headers[name]?.description,
    })),
    bodies: Object.entries(content).map(([mediaType, { schema, examples = {} }]) => ({
      mediaType,
      // The fields of errors are shown once, in the section "Errors".
      fields:
        mediaType === 'application/json'
          ? listResponseFields(schema, components.schemas, types)
          : [],
      examples: Object.values(examples).map(({ summary, value }) => ({
        summary,
        text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
      })),
    })),
  }
}
