// The format of API keys: tqs_<id>_<secret> for servers, tqp_<id>_<secret> for browsers.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import type { Tables } from '../database/table-types.ts'

export type KeyKind = Tables['api_keys']['kind']

const prefixes = { secret: 'tqs', publishable: 'tqp' } as const
const anyPrefix = Object.values(prefixes).join('|')
const pattern = new RegExp(`^(${anyPrefix})_([0-9a-z]{12})_[A-Za-z0-9_-]{43}$`)
const prefixAnywhere = new RegExp(`(${anyPrefix})_`)

/** Returns the id and kind of a well-formed key, or null. The key may still be unknown. */
export function parseKey(key: string): { id: string; kind: KeyKind } | null {
  const [, prefix, id] = pattern.exec(key) ?? []
  return id === undefined
    ? null
    : { id, kind: prefix === prefixes.secret ? 'secret' : 'publishable' }
}

export function mayContainKey(text: string): boolean {
  return prefixAnywhere.test(text)
}

/** Returns whether the text begins like a secret key, which nobody but its owner may see. */
export function looksSecret(text: string): boolean {
  return text.startsWith(`${prefixes.secret}_`)
}

/** Returns the SHA-256 hash of a key. A key has 256 random bits, so no slow hash is needed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Returns a new key and its id: 12 random letters and digits, and 32 random bytes. */
export function generateKey(kind: KeyKind): { id: string; key: string } {
  const id = Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')
  return { id, key: `${prefixes[kind]}_${id}_${randomBytes(32).toString('base64url')}` }
}
