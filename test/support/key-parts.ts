// Takes API keys apart: tests search logs, rows and responses for the parts of a key.
import { parseKey } from '../../src/auth/api-keys.ts'

/** Returns the id of a well-formed key. */
export function idOf(key: string): string {
  const parsed = parseKey(key)
  if (!parsed) throw new Error('This is not an API key')
  return parsed.id
}

/** Returns the secret of a well-formed key: what follows the prefix and the id. */
export function secretOf(key: string): string {
  return key.slice(key.indexOf(idOf(key)) + idOf(key).length + 1)
}
