// The types with which a feature describes its endpoint for the OpenAPI document and /docs.
import type { TObject, TSchema } from '@sinclair/typebox'
import type { Scope } from '../database/table-types.ts'
import type { Reference } from './response-headers.ts'

export type Schema = TSchema | { [keyword: string]: unknown }
export type Example = { summary: string; value: unknown }
export type MediaType = { schema: Schema; examples?: Record<string, Example> }
export type ApiResponse = {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, MediaType>
}
export type Parameter = {
  name: string
  in: 'query' | 'path' | 'header'
  description: string
  required: boolean
  schema: Schema
  example?: unknown
}

/** An endpoint of the API. The method is always GET. */
export type Operation = {
  path: string
  id: string
  summary: string
  description: string
  /** The scope that a caller needs; null if the path itself contains the secret. */
  scope: Scope | null
  parameters: Parameter[]
  responses: Record<string, ApiResponse>
  /** Schemas that get their own name in the document and in generated clients. */
  schemas: Record<string, Schema>
}

/** Returns a description of each query parameter. `examples` are values by parameter name. */
export function queryParameters(schema: TObject, examples: Record<string, unknown>): Parameter[] {
  return Object.entries(schema.properties).map(([name, { description = '', ...property }]) => ({
    name,
    in: 'query',
    description,
    required: false,
    schema: property,
    ...(name in examples && { example: examples[name] }),
  }))
}
