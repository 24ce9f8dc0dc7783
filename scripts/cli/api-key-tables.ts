// The tables of API keys and of their requests, for the terminal.
import { type Kysely, type Selectable, sql } from 'kysely'
import type { Tables } from '../../src/database/table-types.ts'
import { alignColumns } from './command.ts'

type KeyState = 'valid' | 'ends' | 'expired' | 'revoked'
type KeyRow = Selectable<Tables['api_keys']> & { state: KeyState; last_used_at: Date | null }

const listHeader = [
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
  if (shownKeys.length > 0) return alignColumns([listHeader, ...shownKeys.map(formatCells)])
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

const reportHeader = ['day', 'id', 'name', 'calls', 'refused', 'wrong secret']

/** Returns one line for each key and day (UTC) since `firstDay` (YYYY-MM-DD), newest first. */
export async function formatKeyReport(db: Kysely<Tables>, firstDay: string): Promise<string> {
  const rows = await db
    .selectFrom('api_key_usage as usage')
    .innerJoin('api_keys as key', 'key.id', 'usage.key_id')
    .select(['usage.day', 'key.id', 'key.name'])
    .select(['usage.calls', 'usage.refusals', 'usage.wrong_secrets'])
    .where('usage.day', '>=', firstDay)
    .orderBy('usage.day', 'desc')
    .orderBy('usage.calls', 'desc')
    .orderBy('key.id')
    .execute()
  if (rows.length === 0) return `No request with a key was counted since ${firstDay}.`
  const cells = rows.map(({ day, id, name, calls, refusals, wrong_secrets }) => [
    day,
    id,
    name,
    calls,
    refusals,
    wrong_secrets,
  ])
  return alignColumns([reportHeader, ...cells])
}
