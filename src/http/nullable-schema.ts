// How the schemas say "or null".
import { type Static, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'

/**
 * The schema or null. A plain type becomes `type: [name, 'null']`, which both OpenAPI 3.1 and the serialiser take at full speed; an object
 * becomes a union.
 */
export function Nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  if (typeof schema.type !== 'string' || schema.type === 'object')
    return Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
  return Type.Unsafe({ ...schema, type: [schema.type, 'null'] })
}
