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
  env: NodeJS.Dict<string> = process.env,
): Static<Schema> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const variables = sources[name] ?? [name]
    const text = variables.map((variable) => readVariable(variable, env, problems)).find(Boolean)
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
    problems.push(explainForbiddenScope(name, values[name]) ?? problem)
  }
  for (const [name, value] of Object.entries(values)) {
    const problem = invalidNames.has(name) ? null : findProblem(name, value)
    if (problem !== null) problems.push(`${name} is not valid: ${problem}`)
  }
  if (problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem}\n`)
    throw new Error(`The configuration is not valid:\n${lines.join('')}See .env.example.`)
  }
  return settings as Static<Schema>
}

function readVariable(
  name: string,
  env: NodeJS.Dict<string>,
  problems: string[],
): string | undefined {
  const value = env[name]
  const file = env[`${name}_FILE`]
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

/** Returns what is wrong with a value by rules that its schema cannot express, or null. */
function findProblem(name: string, value: unknown): string | null {
  if (name.endsWith('DATABASE_URL')) {
    try {
      parsePostgresUrl(String(value))
    } catch (error) {
      return (error as Error).message
    }
  }
  // The error of Fastify would name only the invalid address.
  const wrong =
    name === 'TRUST_PROXY' ? [value].flat().findIndex((each) => !isProxyRange(String(each))) : -1
  if (wrong === -1) return null
  return (
    `entry ${wrong + 1} must be an address such as 10.0.0.7, ` +
    'a network such as 10.0.0.0/28, or loopback, linklocal or uniquelocal'
  )
}

/** Explains why callers without a key cannot have this scope. Returns null if it is not listed. */
function explainForbiddenScope(name: string, scopes: unknown): string | null {
  if (name !== 'ANONYMOUS_SCOPES' || ![scopes].flat().includes('stats:detail')) return null
  return (
    'ANONYMOUS_SCOPES may not contain stats:detail: names of customers are personal data. ' +
    'Create a key for each caller that may read them: ' +
    'scripts/api-key.ts create --scopes stats:read,stats:detail'
  )
}
