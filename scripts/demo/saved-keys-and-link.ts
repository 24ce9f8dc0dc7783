// The demo's keys and its link: those of the last start for as long as they are good, else new ones.

import { ApiKeyChecker } from '../../src/auth/api-key-check.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import type { Scope } from '../../src/database/table-types.ts'
import { readSharedQuote } from '../../src/quotes/read-shared-quote.ts'
import { createShareLink } from '../../src/quotes/share-links.ts'
import { exampleShareNumber } from './example-rows.ts'

/** A secret key without limits. */
export async function reuseOrCreateKey(
  db: Database,
  scope: Scope,
  key: string | undefined,
): Promise<string> {
  if (key && (await new ApiKeyChecker(db).check(key))) return key
  return createApiKey(db, {
    kind: 'secret',
    name: `Demo ${scope}`,
    scopes: [scope],
    unlimited: true,
  })
}

/** The key that the page / searches with: for the page's own origin, and everybody who opens it sees it. */
export async function reuseOrCreatePaletteKey(
  db: Database,
  origins: string[],
  key: string | undefined,
): Promise<string> {
  const known = key ? await new ApiKeyChecker(db).check(key) : null
  if (key && known && origins.every((origin) => known.origins.includes(origin))) return key
  return createApiKey(db, {
    kind: 'publishable',
    name: 'Demo page',
    scopes: ['search:read'],
    origins,
  })
}

/** The token of a link to the example quote; `url` is the whole link. */
export async function reuseOrCreateLink(
  db: Database,
  timeZone: string,
  url: string | undefined,
): Promise<string> {
  const token = url?.split('/').at(-1) ?? ''
  const known = await readSharedQuote(db, token, { timeZone, now: new Date() })
  return known.state === 'open' ? token : createShareLink(db, { number: exampleShareNumber })
}
