// The demo's API keys and quote link: those of the previous start while they are valid, or new
// ones.
import { ApiKeyCache } from '../../src/auth/api-key-cache.ts'
import { type ApiKey, createApiKey, isUsable } from '../../src/auth/api-keys.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import type { Scope } from '../../src/database/table-types.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { readLink } from '../../src/quotes/links/read-link.ts'
import { linkedQuoteNumber } from './invented-data/example-rows.ts'

/** Returns a secret key without a rate limit. The last scope is in its name. */
export async function reuseOrCreateKey(
  db: Database,
  scopes: Scope[],
  previousKey: string | undefined,
): Promise<string> {
  if (previousKey && (await findUsableKey(db, previousKey))) return previousKey
  return createApiKey(db, {
    kind: 'secret',
    name: `Demo ${scopes.at(-1)}`,
    scopes,
    unlimited: true,
  })
}

/** Returns the publishable key that the home page searches with, restricted to these origins. */
export async function reuseOrCreatePaletteKey(
  db: Database,
  origins: string[],
  previousKey: string | undefined,
): Promise<string> {
  const apiKey = previousKey ? await findUsableKey(db, previousKey) : null
  if (previousKey && apiKey && origins.every((origin) => apiKey.origins.includes(origin)))
    return previousKey
  return createApiKey(db, {
    kind: 'publishable',
    name: 'Demo page',
    scopes: ['search:read'],
    origins,
  })
}

/** Returns the token of a link to the example quote. `previousUrl` is a whole link. */
export async function reuseOrCreateLink(
  db: Database,
  timeZone: string,
  previousUrl: string | undefined,
): Promise<string> {
  const token = previousUrl?.split('/').at(-1) ?? ''
  const link = await readLink(db, token, { timeZone, now: new Date() })
  return link.state === 'open' ? token : createQuoteLink(db, { number: linkedQuoteNumber })
}

async function findUsableKey(db: Database, key: string): Promise<ApiKey | null> {
  const apiKey = await new ApiKeyCache(db, console).find(key)
  return apiKey && isUsable(apiKey) ? apiKey : null
}
