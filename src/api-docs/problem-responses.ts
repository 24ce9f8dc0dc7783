// The error responses of an endpoint in the OpenAPI document, with an example for each code.
import type { Scope } from '../database/table-types.ts'
import {
  type ParameterError,
  ProblemBody,
  type ProblemCode,
  problemKinds,
} from '../http/problem-details.ts'
import type { ApiResponse, MediaType } from './endpoint-description.ts'
import { type HeaderName, withHeaders } from './response-headers.ts'

/** The `detail` of a problem, with `errors` if the problem lists invalid parameters. */
type ProblemExample = string | { detail: string; errors: ParameterError[] }

/** The example of a problem that every endpoint can return. */
export const misdirectedRequest =
  'This service does not answer under this host name. ' +
  'The operator can allow the name with ALLOWED_HOSTS.'

/**
 * Returns example details of the problems that both JSON endpoints can return. `scope` is the scope
 * that the endpoint needs, and `otherScope` another one.
 */
export const commonProblems = (scope: Scope, otherScope: Scope) => ({
  unauthenticated:
    `This path needs a key with the scope ${scope}. The operator creates keys with ` +
    'scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".',
  insufficient_scope: `The key lacks the scope ${scope}; it has ${otherScope}.`,
  rate_limited: 'The limit is 40 requests per second. Try again in 1 second.',
  misdirected_request: misdirectedRequest,
  internal_error: 'The request failed. The reason is in the log, under this requestId.',
})

const headerByCode: Partial<Record<ProblemCode, HeaderName>> = {
  unauthenticated: 'www-authenticate',
  rate_limited: 'retry-after',
  unavailable: 'retry-after',
}

/**
 * Returns the error responses of an endpoint by status. `examples` contains every problem code
 * that it can return. `otherMediaTypes` are further formats of errors that a client can request.
 */
export function problemResponses(
  examples: Partial<Record<ProblemCode, ProblemExample>>,
  otherMediaTypes: Record<string, MediaType> = {},
): Record<string, ApiResponse> {
  const codes = Object.keys(examples) as ProblemCode[]
  const codesByStatus = Object.groupBy(codes, (code) => problemKinds[code].status)
  return Object.fromEntries(
    Object.entries(codesByStatus).map(([status, codes = []]) => [
      status,
      {
        description: codes.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
        headers: withHeaders(...codes.flatMap((code) => headerByCode[code] ?? [])),
        content: {
          'application/problem+json': {
            schema: problemSchema(Number(status), codes),
            examples: Object.fromEntries(
              codes.map((code) => [code, createExample(code, examples[code] ?? '')]),
            ),
          },
          ...otherMediaTypes,
        },
      },
    ]),
  )
}

function problemSchema(status: number, codes: ProblemCode[]) {
  return {
    allOf: [
      ProblemBody,
      {
        type: 'object',
        properties: { status: { const: status }, code: { type: 'string', enum: codes } },
      },
    ],
  }
}

function createExample(code: ProblemCode, example: ProblemExample) {
  const { status, title } = problemKinds[code]
  const details = typeof example === 'string' ? { detail: example } : example
  const value: ProblemBody = {
    type: `urn:trade-quoting-service:problem:${code}`,
    title,
    status,
    detail: details.detail,
    code,
    requestId: 'k3f9x2-1a',
    ...('errors' in details && { errors: details.errors }),
  }
  return { summary: title, value }
}
