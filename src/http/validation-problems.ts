// Turns the errors of the JSON schema validator into a problem that explains each parameter.
// A parameter whose values are limited needs one of these in its schema, or the caller reads only
// that it "is not valid":
// - `enum`
// - type integer with `minimum` and `maximum`
// - type array with `maxItems`, and one of the others for its items
// - `pattern` with `examples`
// - `format: date`
// - `maxLength`
import type { FastifyError } from 'fastify'
import {
  createInvalidParametersProblem,
  type ParameterError,
  type Problem,
} from './problem-details.ts'

type ValidationErrors = NonNullable<FastifyError['validation']>
type ValidationError = FastifyError & { validation: ValidationErrors }
/** An error of Ajv with `verbose: true`. */
type SchemaError = ValidationErrors[number] & {
  parentSchema?: Record<string, unknown>
  data?: unknown
}

export function isValidationError(error: FastifyError): error is ValidationError {
  return error.validation !== undefined
}

export function createValidationProblem(error: ValidationError): Problem {
  return createInvalidParametersProblem(
    describeValidationErrors(error.validation, error.validationContext),
  )
}

/** A URL has room for thousands of unknown parameters, whose list would be 400 kB. */
const maxListedErrors = 20

/**
 * Returns the parameter of each error and what is allowed for it, at most `maxListedErrors`.
 * Several errors with the same text are one: Ajv finds several in one value, for example a wrong
 * type and none of the allowed values.
 */
export function describeValidationErrors(
  errors: ValidationErrors,
  context?: string,
): ParameterError[] {
  const described = errors.map((error) => describeParameter(error, context))
  const distinct = new Map(described.map((each) => [`${each.parameter}: ${each.detail}`, each]))
  return [...distinct.values()].slice(0, maxListedErrors)
}

function describeParameter(
  { instancePath, keyword, params, parentSchema = {}, data }: SchemaError,
  context = '',
): ParameterError {
  if (keyword === 'additionalProperties')
    return {
      parameter: String(params.additionalProperty),
      detail: 'is not a parameter of this path',
    }
  return {
    parameter: instancePath.split('/')[1] ?? String(params.missingProperty ?? context),
    detail:
      Array.isArray(data) && parentSchema.type !== 'array'
        ? 'must occur only once'
        : describeAllowedValues(parentSchema, params.missingProperty !== undefined),
  }
}

function describeAllowedValues(schema: Record<string, unknown>, isMissing: boolean): string {
  const { type, enum: values, minimum, maximum, minItems, maxItems } = schema
  const { minLength, maxLength, pattern, format, examples } = schema
  if (Array.isArray(values)) return `must be one of ${values.join(', ')}`
  if (type === 'array' && maxItems !== undefined)
    return `must occur ${minItems ?? 0} to ${maxItems} times`
  if (type === 'integer' && minimum !== undefined && maximum !== undefined)
    return `must be a whole number from ${minimum} to ${maximum}`
  if (pattern !== undefined && Array.isArray(examples))
    return `must be written like ${examples.join(' or ')}`
  if (format === 'date') return 'must be a date such as 2026-12-31'
  if (maxLength !== undefined) return `must have ${minLength ?? 0} to ${maxLength} characters`
  return isMissing ? 'is required' : 'is not valid'
}
