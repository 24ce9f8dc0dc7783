// The API keys as a table, for people.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../src/database/table-types.ts'

/** A line for each key, newest first; those that are over only with `all`. Shows no secret: there is none in the database. */
export async function describeKeys(db: Kysely<Tables>, all: boolean): Promise<string> {
  const keys = await db
    .selectFrom('api_keys')
    .selectAll()
    .select(
      sql<
        'valid' | 'ends' | 'expired' | 'revoked'
      >`case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired'
        when expires_at is not null then 'ends' else 'valid' end`.as('state'),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  const shown = keys.filter(({ state }) => all || state === 'valid' || state === 'ends')
  if (shown.length === 0)
    return all || keys.length === 0
      ? 'There is no key.'
      : 'There is no key that works: see list --all.'
  const rows = shown.map((key) => [
    key.id,
    key.kind,
    key.name,
    [...key.scopes, ...key.origins].join(' '),
    key.unlimited ? 'none' : key.limit_factor === null ? 'usual' : `${Number(key.limit_factor)}x`,
    instant(key.created_at),
    key.last_used_at ? instant(key.last_used_at) : 'never',
    stateOf(key.state, key.state === 'revoked' ? key.revoked_at : key.expires_at),
  ])
  const lines = [['id', 'kind', 'name', 'may', 'limits', 'created', 'last used', 'state'], ...rows]
  const widths = lines.reduce(
    (most, cells) => cells.map((cell, n) => Math.max(cell.length, most[n] ?? 0)),
    [] as number[],
  )
  return lines
    .map((cells) =>
      cells
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** To the minute, in UTC. */
function instant(date: Date): string {
  return `${date.toISOString().slice(0, 16)}Z`
}

function stateOf(state: string, since: Date | null): string {
  return since ? `${state} ${instant(since)}` : state
}
