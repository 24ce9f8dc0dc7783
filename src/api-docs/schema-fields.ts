// A JSON schema as a tree of fields that a page can show.

export type SchemaNode = { [keyword: string]: unknown }
export type Field = {
  name: string
  type: string
  required: boolean
  description: string
  fields: Field[]
}

/** The fields of an object, with those of the objects in it. References lead into `schemas`. */
export function fieldsOf(schema: SchemaNode, schemas: Record<string, SchemaNode>): Field[] {
  const { properties = {}, required = [] } = objectIn(schema, schemas) as {
    properties?: Record<string, SchemaNode>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    required: required.includes(name),
    description: descriptionOf(property, schemas),
    fields: fieldsOf(property, schemas),
  }))
}

/** The object that a schema is, or holds: behind references, in lists, or null beside it. */
function objectIn(schema: SchemaNode, schemas: Record<string, SchemaNode>): SchemaNode {
  const { $ref, items, anyOf } = schema as {
    $ref?: string
    items?: SchemaNode
    anyOf?: SchemaNode[]
  }
  if ($ref) return objectIn(schemas[nameOf($ref)] ?? {}, schemas)
  if (items) return objectIn(items, schemas)
  const other = anyOf?.find(({ type }) => type !== 'null')
  return other ? objectIn(other, schemas) : schema
}

function descriptionOf(schema: SchemaNode, schemas: Record<string, SchemaNode>): string {
  const { $ref, description, anyOf } = schema as {
    $ref?: string
    description?: string
    anyOf?: SchemaNode[]
  }
  if (description) return description
  if ($ref) return String(schemas[nameOf($ref)]?.description ?? '')
  return anyOf?.[0] ? descriptionOf(anyOf[0], schemas) : ''
}

/** The type in a few words: "integer, 1 to 50, default 8". */
export function typeOf(schema: SchemaNode): string {
  const {
    $ref,
    type,
    items,
    anyOf,
    enum: choices,
    minimum,
    maximum,
    format,
  } = schema as Record<string, unknown>
  if (typeof $ref === 'string') return nameOf($ref)
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one)).join(' or ')
  const words = [
    items
      ? `list of ${typeOf(items as SchemaNode)}`
      : format === 'date' || format === 'date-time'
        ? format
        : [type ?? 'object'].flat().join(' or '),
    ...(Array.isArray(choices) ? [choices.join(' | ')] : []),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}`] : []),
    ...(schema.default !== undefined && schema.default !== '' ? [`default ${schema.default}`] : []),
  ]
  return words.join(', ')
}

const nameOf = (reference: string) => reference.split('/').at(-1) ?? ''
