// Tokens of quote links. The service stores only their hashes.
import { createHash, randomBytes } from 'node:crypto'

const tokenBytes = 32
const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Returns a new token: 32 random bytes as 43 characters of base64url. */
export function generateLinkToken(): string {
  return randomBytes(tokenBytes).toString('base64url')
}

/** Returns true if the text has the form of a token: 43 characters of base64url. */
export function isLinkToken(text: string): boolean {
  return tokenPattern.test(text)
}

/**
 * Returns the SHA-256 hash of a token's text. The decoded bytes would be ambiguous: the last
 * character has unused bits, so several texts decode to the same 32 bytes.
 */
export function hashLinkToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
