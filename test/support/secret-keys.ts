// Creates secret API keys, and sends requests with them.
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import { createApiKey, type NewKey } from '../../src/auth/api-keys.ts'
import type { Tables } from '../../src/database/table-types.ts'

/** Creates a key that may search, unless `overrides` say otherwise. */
export function createSecretKey(
  db: Kysely<Tables>,
  overrides: Partial<Omit<NewKey, 'kind'>> = {},
): Promise<string> {
  return createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'], ...overrides })
}

/** Returns a well-formed key that was never created. */
export function unknownKey(n: number): string {
  return `tqs_${n.toString(36).padStart(12, '0')}_${'A'.repeat(43)}`
}

/** Returns the headers of a request with the key. */
export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

/** Sends a request with the key and returns the status of its response. */
export async function statusOf(app: FastifyInstance, url: string, key: string): Promise<number> {
  return (await app.inject({ url, headers: bearer(key) })).statusCode
}
