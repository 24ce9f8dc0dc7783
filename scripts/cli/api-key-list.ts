// Reads the API keys and formats them as a table for the terminal.
import { type Kysely, type Selectable, sql } from 'kysely'
import type { Tables } from '../../src/database/table-types.ts'
import { alignColumns } from './align-columns.ts'

type KeyState = 'valid' | 'ends' | 'expired' | 'revoked'
type KeyRow = Selectable<Tables['api_keys']> & { state: KeyState; last_used_at: Date | null }

const header = [
  'id',
  'kind',
  'name',
  'scopes and origins',
  'limits',
  'created',
  'last used',
  'state',
]

/**
 * Returns one line for each key, newest first. Expired and revoked keys are included only if
 * `includesInvalid` is true.
 */
export async function formatKeyTable(
  db: Kysely<Tables>,
  includesInvalid: boolean,
): Promise<string> {
  const keys = await readKeys(db)
  const shownKeys = keys.filter(
    ({ state }) => includesInvalid || state === 'valid' || state === 'ends',
  )
  if (shownKeys.length > 0) return alignColumns([header, ...shownKeys.map(formatCells)])
  return keys.length === 0 ? 'There is no key.' : 'There is no valid key: see list --all.'
}

function readKeys(db: Kysely<Tables>): Promise<KeyRow[]> {
  return (
    db
      .selectFrom('api_keys')
      .selectAll()
      // The driver returns the infinite instants of PostgreSQL as numbers.
      .select(sql<Date | null>`case when isfinite(expires_at) then expires_at end`.as('expires_at'))
      .select(
        sql<KeyState>`
        case
          when revoked_at is not null then 'revoked'
          when expires_at <= now() then 'expired'
          when expires_at < 'infinity' then 'ends'
          else 'valid'
        end`.as('state'),
      )
      .select(
        sql<Date | null>`
        (select max(last_used_at) from api_key_usage where key_id = api_keys.id)`.as(
          'last_used_at',
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .execute()
  )
}

function formatCells(key: KeyRow): string[] {
  return [
    key.id,
    key.kind,
    key.name,
    [...key.scopes, ...key.origins].join(' '),
    formatLimits(key),
    formatInstant(key.created_at),
    key.last_used_at ? formatInstant(key.last_used_at) : 'never',
    formatState(key),
  ]
}

function formatLimits({ unlimited, limit_factor: limitFactor }: KeyRow): string {
  if (unlimited) return 'none'
  return limitFactor === null ? 'usual' : `${Number(limitFactor)}x`
}

function formatState({ state, revoked_at, expires_at }: KeyRow): string {
  const instant = state === 'revoked' ? revoked_at : expires_at
  return instant ? `${state} ${formatInstant(instant)}` : state
}

/** In UTC, without seconds. */
function formatInstant(date: Date): string {
  return `${date.toISOString().slice(0, 16)}Z`
}
