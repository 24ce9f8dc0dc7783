// What the schema of the settings cannot express: further checks, and explanations of errors.
import { parsePostgresUrl } from '../database/postgres-address.ts'
import { isProxyRange } from '../http/client-address.ts'

type SettingCheck = {
  /** Returns the problem of a value that matches the schema, or null. The value may be missing. */
  findProblem?(value: unknown, name: string): string | null
  /** Explains a value that the schema rejects. Null if the description of the setting does. */
  explain?(value: unknown): string | null
}

export const settingChecks: Record<string, SettingCheck> = {
  DATABASE_URL: { findProblem: findUrlProblem },
  REPLICA_DATABASE_URL: { findProblem: findUrlProblem },
  API_DATABASE_URL: { findProblem: findUrlProblem },
  INDEXER_DATABASE_URL: { findProblem: findUrlProblem },
  IMPORTER_DATABASE_URL: { findProblem: findUrlProblem },
  TRUST_PROXY: { findProblem: findProxyProblem },
  ANONYMOUS_SCOPES: { explain: explainForbiddenScope },
}

function findUrlProblem(url: unknown, name: string): string | null {
  if (typeof url !== 'string') return null
  try {
    const { needsPrimary } = parsePostgresUrl(url)
    if (needsPrimary && name === 'REPLICA_DATABASE_URL')
      return `${name} is not valid: it must name one host, without target_session_attrs`
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
