// Makes, lists, rotates and revokes API keys.
import { createApiKey, revokeApiKey, rotateApiKey } from '../src/auth/api-keys.ts'
import { parseWebOrigin } from '../src/auth/registered-origins.ts'
import { readDatabaseConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import type { Scope } from '../src/database/table-types.ts'
import { describeKeys } from './cli/api-key-table.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/api-key.ts create --name NAME --scopes search:read,stats:read [--expires 365d|never] [--limits 5x|none]
       node scripts/api-key.ts create --name NAME --kind publishable --origins https://shop.example,https://erp.example [--expires …] [--limits …]
       node scripts/api-key.ts list [--all]
       node scripts/api-key.ts rotate ID [--overlap 7d]
       node scripts/api-key.ts revoke ID

create prints a new key, once: only its hash is stored. A secret key (tqs_…) is for servers, which send it as "Authorization: Bearer tqs_…" and never
in a URL. A publishable key (tqp_…) is for web pages: it can only search, from its origins only, and may also be sent as ?key= to /api/search.

  --name       who or what uses the key
  --kind       secret or publishable. Default: secret
  --scopes     comma list of search:read, stats:read; a publishable key has search:read
  --origins    comma list of the sites whose pages use a publishable key, such as https://shop.example
  --expires    after how many days the key ends, or never. Default: never
  --limits     its rate limits: so many times the usual ones, such as 5x or 0.5x, or none. --unlimited is the same as --limits none

list shows the keys that work or may yet be in use (--all: also those that are revoked or expired) and when each was used last.
rotate prints a successor that may do the same, and lets the old key end after --overlap (default 7d; 0d: at once): change it over in between.
revoke withdraws a key. Every process refuses it within 5 seconds.

ID is the middle part of the key, as list shows it. Reads DATABASE_URL.
`

const options = {
  name: { type: 'string' },
  kind: { type: 'string', default: 'secret' },
  scopes: { type: 'string' },
  origins: { type: 'string' },
  expires: { type: 'string', default: 'never' },
  limits: { type: 'string' },
  unlimited: { type: 'boolean', default: false },
  overlap: { type: 'string', default: '7d' },
  all: { type: 'boolean', default: false },
} as const

type Values = {
  name?: string | undefined
  kind: string
  scopes?: string | undefined
  origins?: string | undefined
  expires: string
  limits?: string | undefined
  unlimited: boolean
  overlap: string
  all: boolean
}

await runCommand(help, options, async (given, [action = '', ...words]) => {
  const run = { create, list, revoke, rotate }[action]
  if (!run) throw new UsageError('Say what to do: create, list, rotate or revoke.')
  const work = run(given as Values, words)
  const db = openDatabase(readDatabaseConfig().DATABASE_URL, { connections: 1 })
  try {
    console.log(await work(db))
    return 0
  } finally {
    await db.destroy()
  }
})

/** Each checks how it was called, and returns what is to be done in the database: it gives what is printed. */
type Work = (db: Database) => Promise<string>

function create(
  { name, kind, scopes, origins, expires, limits, unlimited }: Values,
  words: string[],
): Work {
  if (words.length > 0) throw new UsageError(`What is ${words[0]} meant to be?`)
  if (!name?.trim()) throw new UsageError('--name is missing: say who or what uses the key.')
  if (kind !== 'secret' && kind !== 'publishable')
    throw new UsageError(`There is no kind ${kind}: use secret or publishable.`)
  const common = {
    kind,
    name: name.trim(),
    ...limitsOf(unlimited ? 'none' : limits),
    expiresAt: expiry(expires),
  } as const
  if (kind === 'secret') {
    if (origins !== undefined)
      throw new UsageError(
        '--origins belongs to --kind publishable: a secret key must not stand in a page.',
      )
    const wanted = { ...common, scopes: scopesOf(scopes) }
    return (db) => createApiKey(db, wanted)
  }
  if (scopes !== undefined && scopes.trim() !== 'search:read')
    throw new UsageError(
      'A publishable key has the scope search:read and no other: everybody can read it in the page.',
    )
  const wanted = { ...common, scopes: ['search:read' as const], origins: originsOf(origins) }
  return (db) => createApiKey(db, wanted)
}

function list({ all }: Values, words: string[]): Work {
  if (words.length > 0) throw new UsageError(`What is ${words[0]} meant to be?`)
  return (db) => describeKeys(db, all)
}

function revoke(_values: Values, words: string[]): Work {
  const id = idOf(words)
  return async (db) => {
    if (!(await revokeApiKey(db, id)))
      throw new Error(`There is no key ${id} that could be revoked: see list --all.`)
    return `Revoked ${id}: it is refused everywhere within 5 seconds.`
  }
}

function rotate({ overlap }: Values, words: string[]): Work {
  const id = idOf(words)
  const overlapMs = days(overlap)
  if (overlapMs === null)
    throw new UsageError(`--overlap ${overlap} is not valid: write days such as 7d, or 0d.`)
  return async (db) => {
    const rotated = await rotateApiKey(db, id, overlapMs)
    if (!rotated) throw new Error(`There is no valid key ${id}: see list --all.`)
    console.error(`The old key ${id} ends at ${rotated.oldEndsAt.toISOString()}. Its successor:`)
    return rotated.key
  }
}

function idOf([id, ...others]: string[]): string {
  if (id === undefined) throw new UsageError('Which key? Give its id, as list shows it.')
  if (others.length > 0) throw new UsageError(`What is ${others[0]} meant to be?`)
  // A whole key is taken for its id, but it does not belong on a command line.
  const [, inKey] = /^tq[sp]_([0-9a-z]{12})_/.exec(id) ?? []
  if (!inKey && !/^[0-9a-z]{12}$/.test(id))
    throw new UsageError('An id is the middle part of a key: 12 letters and digits.')
  return inKey ?? id
}

function scopesOf(text = ''): Scope[] {
  const wanted = listOf(text)
  if (wanted.length === 0)
    throw new UsageError('--scopes is missing: a comma list of search:read, stats:read.')
  return wanted.map((scope) => {
    if (scope !== 'search:read' && scope !== 'stats:read')
      throw new UsageError(`There is no scope ${scope}: use search:read, stats:read.`)
    return scope
  })
}

function originsOf(text = ''): string[] {
  const wanted = listOf(text)
  if (wanted.length === 0)
    throw new UsageError(
      '--origins is missing: the sites whose pages use the key, such as https://shop.example.',
    )
  return [
    ...new Set(
      wanted.map((given) => {
        const origin = parseWebOrigin(given)
        if (!origin)
          throw new UsageError(
            `${given} is not an origin: write scheme and host, such as https://shop.example or http://localhost:8080.`,
          )
        return origin
      }),
    ),
  ]
}

function limitsOf(text: string | undefined): { unlimited: boolean; limitFactor: number | null } {
  if (text === undefined) return { unlimited: false, limitFactor: null }
  if (text === 'none') return { unlimited: true, limitFactor: null }
  const factor = /^\d{1,4}(\.\d{1,3})?x$/.test(text) ? Number(text.slice(0, -1)) : 0
  if (factor <= 0 || factor > 1000)
    throw new UsageError(
      `--limits ${text} is not valid: write a multiple such as 5x, at most 1000x, or none.`,
    )
  return { unlimited: false, limitFactor: factor }
}

function expiry(text: string): Date | null {
  if (text === 'never') return null
  const ms = days(text)
  if (!ms)
    throw new UsageError(`--expires ${text} is not valid: write days such as 365d, or never.`)
  return new Date(Date.now() + ms)
}

function days(text: string): number | null {
  const [, number] = /^(\d{1,5})d$/.exec(text) ?? []
  return number === undefined ? null : Number(number) * 86_400_000
}

function listOf(text: string): string[] {
  return [...new Set(text.split(',').map((item) => item.trim()))].filter((item) => item !== '')
}
