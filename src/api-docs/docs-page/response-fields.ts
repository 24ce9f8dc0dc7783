// Lists the fields of a response body for /docs, from its JSON schema.
import {
  describeType,
  referencedName,
  type SchemaNode,
  type TypeWords,
} from './type-description.ts'

export type ResponseField = {
  name: string
  type: string
  required: boolean
  description: string
  fields: ResponseField[]
}

/** Returns the fields of a schema, nested. References are resolved in `schemas`. */
export function listResponseFields(
  schema: SchemaNode,
  schemas: Record<string, SchemaNode>,
  words: TypeWords,
): ResponseField[] {
  const { properties = {}, required = [] } = findObjectSchema(schema, schemas) as {
    properties?: Record<string, SchemaNode>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: describeType(property, words),
    required: required.includes(name),
    description: findDescription(property, schemas),
    fields: listResponseFields(property, schemas, words),
  }))
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

/** Returns the description of a schema, of the schema that it refers to, or ''. */
function findDescription(schema: SchemaNode, schemas: Record<string, SchemaNode>): string {
  const { $ref, description, anyOf } = schema as {
    $ref?: string
    description?: string
    anyOf?: SchemaNode[]
  }
  if (description) return description
  if ($ref) return String(schemas[referencedName($ref)]?.description ?? '')
  return anyOf?.[0] ? findDescription(anyOf[0], schemas) : ''
}
