// The database roles of the demo's programs: the same at each start, without a password file.
import { createHmac } from 'node:crypto'
import type { Login, Program } from '../../src/database/role-grants.ts'
import type { DemoServers } from './demo-servers.ts'

const programs: Program[] = ['api', 'indexer', 'importer']

/** Derives the passwords from the engine's master key. `urls` are those of the demo database. */
export function demoRoles({
  databaseUrl,
  meiliMasterKey,
}: Pick<DemoServers, 'databaseUrl' | 'meiliMasterKey'>): {
  logins: Record<Program, Login>
  urls: Record<Program, string>
} {
  const roles = programs.map((program) => {
    const login = {
      name: `quotes_${program}`,
      password: createHmac('sha256', meiliMasterKey)
        .update(`database role ${program}`)
        .digest('base64url'),
    }
    const url = new URL(databaseUrl)
    url.username = login.name
    url.password = login.password
    return { program, login, url: url.href }
  })
  return {
    logins: Object.fromEntries(roles.map(({ program, login }) => [program, login])) as Record<
      Program,
      Login
    >,
    urls: Object.fromEntries(roles.map(({ program, url }) => [program, url])) as Record<
      Program,
      string
    >,
  }
}
