// Describes the type of a parameter or a field in a few words, from its JSON schema.

export type SchemaNode = { [keyword: string]: unknown }

/** Returns for example "integer, 1 to 50, default 8". */
export function describeType(schema: SchemaNode): string {
  const { $ref, anyOf, minimum, maximum } = schema
  if (typeof $ref === 'string') return referencedName($ref)
  if (Array.isArray(anyOf)) return anyOf.map((member) => describeType(member)).join(' or ')
  const words = [baseType(schema)]
  if (Array.isArray(schema.enum)) words.push(schema.enum.join(' | '))
  if (minimum !== undefined && maximum !== undefined) words.push(`${minimum} to ${maximum}`)
  if (schema.default !== undefined && schema.default !== '') words.push(`default ${schema.default}`)
  return words.join(', ')
}

/** Returns the name of a schema from a reference to it: `#/components/schemas/NAME`. */
export const referencedName = (reference: string) => reference.split('/').at(-1) ?? ''

function baseType({ type, items, format }: SchemaNode): string {
  if (items) return `list of ${describeType(items as SchemaNode)}`
  if (format === 'date' || format === 'date-time') return format
  return [type ?? 'object'].flat().join(' or ')
}
