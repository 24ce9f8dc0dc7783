// Explains what is wrong with a company file: the field, what is expected, and an example.
import type { TSchema } from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'

const maxShownCharacters = 60

/**
 * Returns one line for each wrong field, with its path. The schema of a field has a `description`
 * of what is expected and `examples`.
 */
export function describeSchemaErrors(schema: TSchema, content: unknown): string[] {
  const lines = new Map<string, string>()
  for (const error of findErrors(schema, content, '')) {
    const path = error.path || '/'
    // The first error of a field says most: a missing text is also no text.
    if (!lines.has(path)) lines.set(path, `${path}: ${describeError(error)}`)
  }
  return [...lines.values()]
}

/** Returns the errors, of a union those of the one object that it may be. */
function findErrors(schema: TSchema, content: unknown, prefix: string): ValueError[] {
  return [...Value.Errors(schema, content)].flatMap((error) => {
    const path = prefix + error.path
    const object = (error.schema.anyOf as TSchema[] | undefined)?.find(
      ({ type }) => type === 'object',
    )
    return object && isObject(error.value)
      ? findErrors(object, error.value, path)
      : [{ ...error, path }]
  })
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function describeError({ type, schema, value }: ValueError): string {
  if (type === ValueErrorType.ObjectAdditionalProperties)
    return 'is not a field of a company file. docs/importing.md lists the fields'
  const text = JSON.stringify(value) ?? ''
  const shown = text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text
  const problem = value === undefined ? 'is missing' : `${shown} is not valid`
  const { description = '', examples = [] } = schema as {
    description?: string
    examples?: unknown[]
  }
  const example = examples.length > 0 ? `, for example ${JSON.stringify(examples[0])}` : ''
  return `${problem}. Expected: ${description}${example}`
}
