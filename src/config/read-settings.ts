// Reads settings from the environment, and checks them. No other file reads the environment.
import { readFileSync } from 'node:fs'
import type { Static, TObject } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { parsePostgresUrl } from '../database/postgres-address.ts'
import { isProxyRange } from '../http/client-address.ts'

/** Secrets that may also be in a file whose name is in NAME_FILE, as container platforms do. */
const secrets = [
  'DATABASE_URL',
  'API_DATABASE_URL',
  'INDEXER_DATABASE_URL',
  'IMPORTER_DATABASE_URL',
  'REDIS_URL',
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'MEILI_SEARCH_KEY',
]

type Sources = Record<string, readonly string[]>

/** Returns the settings in the schema. Throws one error that lists every problem. */
export function readSettings<Schema extends TObject>(
  schema: Schema,
  sources: Sources = {},
): Static<Schema> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const variables = sources[name] ?? [name]
    const text = variables.map((variable) => readVariable(variable, problems)).find(Boolean)
    if (text !== undefined)
      values[name] = property.type === 'array' ? splitList(text) : Value.Convert(property, text)
  }
  const settings = Value.Default(schema, values)
  const invalidNames = new Set(
    [...Value.Errors(schema, settings)].map(({ path }) => path.split('/')[1] ?? ''),
  )
  for (const name of invalidNames) {
    const { description = '' } = schema.properties[name] ?? {}
    const problem = `${name} is ${name in values ? 'not valid' : 'missing'}: ${description}`
    problems.push(settingChecks[name]?.explain?.(values[name]) ?? problem)
  }
  for (const [name, { findProblem }] of Object.entries(settingChecks)) {
    const problem = invalidNames.has(name) ? null : findProblem?.(values[name], name)
    if (problem) problems.push(problem)
  }
  if (problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem}\n`)
    throw new Error(`The configuration is not valid:\n${lines.join('')}See .env.example.`)
  }
  return settings as Static<Schema>
}

function readVariable(name: string, problems: string[]): string | undefined {
  const value = process.env[name]
  const file = process.env[`${name}_FILE`]
  if (!file || !secrets.includes(name)) return value
  if (value) {
    problems.push(`${name} and ${name}_FILE are both set: keep one of them`)
    return value
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    problems.push(`${name}_FILE cannot be read: ${reason}`)
    return undefined
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** What the schema of the settings cannot express. */
type SettingCheck = {
  /** Returns the problem of a value that matches the schema, or null. The value may be missing. */
  findProblem?(value: unknown, name: string): string | null
  /** Explains a value that the schema rejects. Null if the description of the setting does. */
  explain?(value: unknown): string | null
}

const settingChecks: Record<string, SettingCheck> = {
  DATABASE_URL: { findProblem: findUrlProblem },
  API_DATABASE_URL: { findProblem: findUrlProblem },
  INDEXER_DATABASE_URL: { findProblem: findUrlProblem },
  IMPORTER_DATABASE_URL: { findProblem: findUrlProblem },
  TRUST_PROXY: { findProblem: findProxyProblem },
  ANONYMOUS_SCOPES: { explain: explainForbiddenScope },
}

function findUrlProblem(url: unknown, name: string): string | null {
  if (typeof url !== 'string') return null
  try {
    parsePostgresUrl(url)
    return null
  } catch (error) {
    return `${name} is not valid: ${(error as Error).message}`
  }
}

/** The error of Fastify would name only the invalid address. */
function findProxyProblem(entries: unknown): string | null {
  if (!Array.isArray(entries)) return null
  const wrong = entries.findIndex((entry) => !isProxyRange(entry))
  if (wrong === -1) return null
  return (
    `TRUST_PROXY is not valid: entry ${wrong + 1} must be an address such as 10.0.0.7, ` +
    'a network such as 10.0.0.0/28, or loopback, linklocal or uniquelocal'
  )
}

/** Explains why callers without a key cannot have this scope. Returns null if it is not listed. */
function explainForbiddenScope(scopes: unknown): string | null {
  if (!Array.isArray(scopes) || !scopes.includes('stats:detail')) return null
  return (
    'ANONYMOUS_SCOPES may not contain stats:detail: names of customers are personal data. ' +
    'Create a key for each caller that may read them: ' +
    'scripts/api-key.ts create --scopes stats:read,stats:detail'
  )
}
