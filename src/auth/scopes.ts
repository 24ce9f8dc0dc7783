// The scopes of API keys: what a key allows. A check constraint of the table api_keys lists them
// too.
import type { Scope } from '../database/table-types.ts'

export const allScopes: readonly Scope[] = ['search:read', 'stats:read', 'stats:detail']

/** The only scope of a publishable key, because every visitor of the page can read the key. */
export const publishableScope: Scope = 'search:read'
