// Describes the type of a parameter or a field in a few words, from its JSON schema.

export type SchemaNode = { [keyword: string]: unknown }

/** The words that connect the parts of a type. */
export type TypeWords = { or: string; to: string; byDefault: string; listOf: string }

/** Returns for example "integer, 1 to 50, default 8". */
export function describeType(schema: SchemaNode, words: TypeWords): string {
  const { $ref, anyOf, minimum, maximum } = schema
  if (typeof $ref === 'string') return referencedName($ref)
  if (Array.isArray(anyOf))
    return anyOf.map((member) => describeType(member, words)).join(` ${words.or} `)
  const parts = [baseType(schema, words)]
  if (Array.isArray(schema.enum)) parts.push(schema.enum.join(' | '))
  if (minimum !== undefined && maximum !== undefined)
    parts.push(`${minimum} ${words.to} ${maximum}`)
  if (schema.default !== undefined && schema.default !== '')
    parts.push(`${words.byDefault} ${schema.default}`)
  return parts.join(', ')
}

/** Returns the name of a schema from a reference to it: `#/components/schemas/NAME`. */
export const referencedName = (reference: string) => reference.split('/').at(-1) ?? ''

function baseType({ type, items, format }: SchemaNode, words: TypeWords): string {
  if (items) return `${words.listOf} ${describeType(items as SchemaNode, words)}`
  if (format === 'date' || format === 'date-time') return format
  return [type ?? 'object'].flat().join(` ${words.or} `)
}
