// Converts a JSON schema to the tree of fields that /docs shows.

export type SchemaNode = { [keyword: string]: unknown }
export type Field = {
  name: string
  type: string
  required: boolean
  description: string
  fields: Field[]
}

/** Returns the fields of an object schema, nested. References are resolved in `schemas`. */
export function listFields(schema: SchemaNode, schemas: Record<string, SchemaNode>): Field[] {
  const { properties = {}, required = [] } = findObjectSchema(schema, schemas) as {
    properties?: Record<string, SchemaNode>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: describeType(property),
    required: required.includes(name),
    description: describeSchema(property, schemas),
    fields: listFields(property, schemas),
  }))
}

/** Returns the type in a few words: "integer, 1 to 50, default 8". */
export function describeType(schema: SchemaNode): string {
  const { $ref, type, items, anyOf, format, minimum, maximum } = schema
  if (typeof $ref === 'string') return referencedName($ref)
  if (Array.isArray(anyOf)) return anyOf.map((member) => describeType(member)).join(' or ')
  const values = schema.enum
  const words = [
    items
      ? `list of ${describeType(items as SchemaNode)}`
      : format === 'date' || format === 'date-time'
        ? format
        : [type ?? 'object'].flat().join(' or '),
    ...(Array.isArray(values) ? [values.join(' | ')] : []),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}`] : []),
    ...(schema.default !== undefined && schema.default !== '' ? [`default ${schema.default}`] : []),
  ]
  return words.join(', ')
}

/** Returns the object schema behind a reference, in a list, or beside null in a union. */
function findObjectSchema(schema: SchemaNode, schemas: Record<string, SchemaNode>): SchemaNode {
  const { $ref, items, anyOf } = schema as {
    $ref?: string
    items?: SchemaNode
    anyOf?: SchemaNode[]
  }
  if ($ref) return findObjectSchema(schemas[referencedName($ref)] ?? {}, schemas)
  if (items) return findObjectSchema(items, schemas)
  const nonNull = anyOf?.find(({ type }) => type !== 'null')
  return nonNull ? findObjectSchema(nonNull, schemas) : schema
}

function describeSchema(schema: SchemaNode, schemas: Record<string, SchemaNode>): string {
  const { $ref, description, anyOf } = schema as {
    $ref?: string
    description?: string
    anyOf?: SchemaNode[]
  }
  if (description) return description
  if ($ref) return String(schemas[referencedName($ref)]?.description ?? '')
  return anyOf?.[0] ? describeSchema(anyOf[0], schemas) : ''
}

const referencedName = (reference: string) => reference.split('/').at(-1) ?? ''
