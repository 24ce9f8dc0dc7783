// Makes API keys.
import { createApiKey } from '../src/access/api-keys.ts'
import { readDatabaseConfig } from '../src/config.ts'
import { openDatabase } from '../src/connections.ts'
import type { Scope } from '../src/database/tables.ts'
import { runCommand, UsageError } from './command.ts'

const help = `
Usage: node scripts/api-key.ts create --name NAME --scopes search:read,stats:read [--expires 365d|never] [--unlimited]

Prints a new secret key, once: only its hash is stored. Callers send it as "Authorization: Bearer tqs_…".

  --name       who or what uses the key
  --scopes     comma list of search:read, stats:read
  --expires    after how many days the key ends, or never. Default: never
  --unlimited  exempt from the rate limits

Reads DATABASE_URL.
`

const options = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string', default: 'never' },
  unlimited: { type: 'boolean', default: false },
} as const

await runCommand(help, options, async (values, [action, ...others]) => {
  if (action !== 'create' || others.length > 0) throw new UsageError('Say what to do: create --name NAME --scopes SCOPES.')
  if (!values.name?.trim()) throw new UsageError('--name is missing: say who or what uses the key.')
  const wanted = { kind: 'secret', name: values.name.trim(), scopes: scopes(values.scopes), unlimited: values.unlimited } as const
  const expiresAt = expiry(values.expires)
  const db = openDatabase(readDatabaseConfig().DATABASE_URL, { connections: 1 })
  try {
    console.log(await createApiKey(db, { ...wanted, expiresAt }))
    return 0
  } finally {
    await db.destroy()
  }
})

function scopes(text = ''): Scope[] {
  const wanted = [...new Set(text.split(',').map((scope) => scope.trim()))].filter((scope) => scope !== '')
  if (wanted.length === 0) throw new UsageError('--scopes is missing: a comma list of search:read, stats:read.')
  return wanted.map((scope) => {
    if (scope !== 'search:read' && scope !== 'stats:read') throw new UsageError(`There is no scope ${scope}: use search:read, stats:read.`)
    return scope
  })
}

function expiry(text: string): Date | null {
  if (text === 'never') return null
  const [, days] = /^([1-9]\d{0,4})d$/.exec(text) ?? []
  if (!days) throw new UsageError(`--expires ${text} is not valid: write days such as 365d, or never.`)
  return new Date(Date.now() + Number(days) * 86_400_000)
}
