// Makes a TypeBox schema nullable.
import { type Static, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'

/**
 * Returns a schema that also accepts null. A plain type becomes `type: [name, 'null']`, which is
 * valid OpenAPI 3.1 and fast to serialise. An object becomes a union.
 */
export function Nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  if (typeof schema.type !== 'string' || schema.type === 'object')
    return Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
  return Type.Unsafe({ ...schema, type: [schema.type, 'null'] })
}
