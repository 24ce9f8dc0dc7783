// Creates, lists, rotates and revokes API keys.
import { createApiKey, publishableScope, revokeApiKey, rotateApiKey } from '../src/auth/api-keys.ts'
import { parseWebOrigin } from '../src/auth/cors.ts'
import { readDatabaseConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import { allScopes, type Scope } from '../src/database/table-types.ts'
import { formatKeyReport, formatKeyTable } from './cli/api-key-tables.ts'
import {
  type CommandContext,
  chooseByName,
  defineProgram,
  type OptionValues,
  parseWholeNumber,
  processContext,
  UsageError,
} from './cli/command.ts'

const help = `
Usage: node scripts/api-key.ts create --name NAME --scopes search:read,stats:read,stats:detail
                                      [--expires 365d|never] [--limits 5x|none]
       node scripts/api-key.ts create --name NAME --kind publishable
                                      --origins https://shop.example,https://erp.example
                                      [--expires …] [--limits …]
       node scripts/api-key.ts list [--all]
       node scripts/api-key.ts report [--days 30]
       node scripts/api-key.ts rotate ID [--overlap 7d]
       node scripts/api-key.ts revoke ID

create prints a new key once: only its hash is stored. A secret key (tqs_…) is for servers, which
send it as "Authorization: Bearer tqs_…" and never in a URL. A publishable key (tqp_…) is for web
pages: it can only search, only from its origins, and may also be sent as ?key= to /api/search.

  --name       who or what uses the key
  --kind       secret or publishable (default: secret)
  --scopes     comma-separated list of search:read, stats:read, stats:detail; a publishable key has
               search:read. stats:detail adds customers, by name, and products to the statistics,
               and what people search for to the dashboard: names of customers are personal data
  --origins    comma-separated list of the sites whose pages use a publishable key, for example
               https://shop.example
  --expires    the days after which the key expires, for example 365d, or never (default: never)
  --limits     the rate limits of the key: a multiple of the configured ones, for example 5x or
               0.5x, or none; --unlimited is the same as --limits none

report prints the requests and refusals (401, 403 and 429) of each key by day (UTC), newest first.
A revoked or expired key that is still used is refused with 401. "wrong secret" counts requests
with the id of the key and another secret: someone is guessing, or a key was copied incorrectly.
Anyone who knows the id can increase this number; it changes nothing for the key.

  --days       how many days (default: 30)

list prints the keys that are valid, or all keys with --all, and when each key was last used.
rotate prints a successor with the same rights and the same lifetime. The old key expires after
--overlap (default: 7d; 0d: at once). Replace it before then. A key is rotated only once. If the
successor was lost, revoke it and create a key.
revoke revokes a key. Every process rejects it within 5 seconds.

ID is the middle part of the key, as list prints it. Reads DATABASE_URL.
`

const dayMs = 86_400_000
const maxLimitFactor = 1000
const maxReportDays = 9_999

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
  days: { type: 'string', default: '30' },
} as const

type Values = OptionValues<typeof options>

/** Runs in the database and returns the text to print. */
type DatabaseAction = (db: Database, context: CommandContext) => Promise<string>

export const apiKey = defineProgram(help, options, async (values, [command, ...words], context) => {
  const prepare = chooseByName({ create, list, report, rotate, revoke }, command, 'command')
  const action = prepare(values, words)
  const db = openDatabase(readDatabaseConfig(context.env).DATABASE_URL, { connections: 1 })
  try {
    context.printLine(await action(db, context))
    return 0
  } finally {
    await db.destroy()
  }
})

function create(values: Values, words: string[]): DatabaseAction {
  rejectWords(words)
  const { kind, limits, unlimited, expires } = values
  if (unlimited && limits !== undefined)
    throw new UsageError('Use --limits or --unlimited, not both.')
  const name = values.name?.trim()
  if (!name) throw new UsageError('--name is missing: name who or what uses the key.')
  const common = {
    name,
    ...parseLimits(unlimited ? 'none' : limits),
    expiresAt: parseExpiry(expires),
  }
  switch (kind) {
    case 'secret':
      return createSecretKey(common, values)
    case 'publishable':
      return createPublishableKey(common, values)
    default:
      throw new UsageError(`There is no kind ${kind}: use secret or publishable.`)
  }
}

type CommonFields = {
  name: string
  unlimited: boolean
  limitFactor: number | null
  expiresAt: Date | null
}

function createSecretKey(common: CommonFields, { scopes, origins }: Values): DatabaseAction {
  if (origins !== undefined)
    throw new UsageError(
      '--origins requires --kind publishable: a secret key must not be in a web page.',
    )
  const newKey = { ...common, kind: 'secret' as const, scopes: parseScopes(scopes) }
  return (db) => createApiKey(db, newKey)
}

function createPublishableKey(common: CommonFields, { scopes, origins }: Values): DatabaseAction {
  if (scopes !== undefined && scopes.trim() !== publishableScope)
    throw new UsageError(
      `A publishable key has the scope ${publishableScope} and no other: ` +
        'every visitor can read it.',
    )
  const newKey = {
    ...common,
    kind: 'publishable' as const,
    scopes: [publishableScope],
    origins: parseOrigins(origins),
  }
  return (db) => createApiKey(db, newKey)
}

function list({ all }: Values, words: string[]): DatabaseAction {
  rejectWords(words)
  return (db) => formatKeyTable(db, all)
}

function report({ days }: Values, words: string[]): DatabaseAction {
  rejectWords(words)
  const count = parseWholeNumber('--days', days, maxReportDays)
  const firstDay = new Date(Date.now() - (count - 1) * dayMs).toISOString().slice(0, 10)
  return (db) => formatKeyReport(db, firstDay)
}

function revoke(_values: Values, words: string[]): DatabaseAction {
  const id = parseId(words)
  return async (db) => {
    if (!(await revokeApiKey(db, id)))
      throw new Error(`There is no key ${id} that can be revoked: see list --all.`)
    return `Revoked ${id}: every process rejects it within 5 seconds.`
  }
}

function rotate({ overlap }: Values, words: string[]): DatabaseAction {
  const id = parseId(words)
  const overlapDays = parseDays(overlap)
  if (overlapDays === null)
    throw new UsageError(`--overlap ${overlap} is not valid: write days, for example 7d, or 0d.`)
  return async (db, { printError }) => {
    const rotated = await rotateApiKey(db, id, overlapDays)
    if (!rotated) throw new Error(`There is no valid key ${id}: see list --all.`)
    const { key, endsAt, oldEndsAt } = rotated
    const end = endsAt === null ? 'never expires' : `expires at ${endsAt.toISOString()}`
    printError(`The old key ${id} expires at ${oldEndsAt.toISOString()}.`)
    printError(`Its successor, which ${end}:`)
    return key
  }
}

function rejectWords([word]: string[]): void {
  if (word !== undefined) throw new UsageError(`Unexpected argument: ${word}`)
}

/** Accepts the id or the whole key, although a key should not be on a command line. */
function parseId([id, ...others]: string[]): string {
  if (id === undefined) throw new UsageError('Which key? Name its id, as list prints it.')
  rejectWords(others)
  const [, idInKey] = /^tq[sp]_([0-9a-z]{12})_/.exec(id) ?? []
  if (!idInKey && !/^[0-9a-z]{12}$/.test(id))
    throw new UsageError('An id is the middle part of a key: 12 letters and digits.')
  return idInKey ?? id
}

function parseScopes(text = ''): Scope[] {
  const scopes = splitList(text)
  if (scopes.length === 0)
    throw new UsageError(`--scopes is missing: a comma-separated list of ${allScopes.join(', ')}.`)
  const parsed = scopes.map(parseScope)
  if (parsed.includes('stats:detail') && !parsed.includes('stats:read'))
    throw new UsageError('stats:detail adds to stats:read: use --scopes stats:read,stats:detail.')
  return parsed
}

function parseScope(text: string): Scope {
  const scope = allScopes.find((known) => known === text)
  if (!scope) throw new UsageError(`There is no scope ${text}: use ${allScopes.join(', ')}.`)
  return scope
}

function parseOrigins(text = ''): string[] {
  const origins = splitList(text).map(parseOrigin)
  if (origins.length === 0)
    throw new UsageError(
      '--origins is missing: the sites whose pages use the key, for example https://shop.example.',
    )
  return [...new Set(origins)]
}

function parseOrigin(text: string): string {
  const origin = parseWebOrigin(text)
  if (!origin)
    throw new UsageError(
      `${text} is not an origin: write scheme and host, for example ` +
        'https://shop.example or http://localhost:8080.',
    )
  return origin
}

function parseLimits(text: string | undefined): Pick<CommonFields, 'unlimited' | 'limitFactor'> {
  if (text === undefined) return { unlimited: false, limitFactor: null }
  if (text === 'none') return { unlimited: true, limitFactor: null }
  const factor = /^\d{1,4}(\.\d{1,3})?x$/.test(text) ? Number(text.slice(0, -1)) : 0
  if (factor <= 0 || factor > maxLimitFactor)
    throw new UsageError(
      `--limits ${text} is not valid: write a multiple, for example 5x, ` +
        `at most ${maxLimitFactor}x, or none.`,
    )
  return { unlimited: false, limitFactor: factor }
}

function parseExpiry(text: string): Date | null {
  if (text === 'never') return null
  const days = parseDays(text)
  if (!days)
    throw new UsageError(`--expires ${text} is not valid: write days, for example 365d, or never.`)
  return new Date(Date.now() + days * dayMs)
}

/** Returns the number of days in a text such as "7d", or null for any other text. */
function parseDays(text: string): number | null {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? []
  return days === undefined ? null : Number(days)
}

function splitList(text: string): string[] {
  return [...new Set(text.split(',').map((item) => item.trim()))].filter((item) => item !== '')
}

if (import.meta.main) process.exitCode = await apiKey(processContext)
