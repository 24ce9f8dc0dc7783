// The database roles of the programs under test, and the URLs that log in with them.
import type { Login, Program } from '../../../src/database/role-grants.ts'

export const logins: Record<Program, Login> = {
  api: { name: 'tqs_test_api', password: 'of the api' },
  indexer: { name: 'tqs_test_indexer', password: 'of the indexer' },
  importer: { name: 'tqs_test_importer', password: 'of the importer' },
}

/** Returns the URL of the same database with the role of a program. */
export function buildRoleUrl(url: string, program: Program): string {
  const roleUrl = new URL(url)
  roleUrl.username = logins[program].name
  roleUrl.password = encodeURIComponent(logins[program].password)
  return roleUrl.href
}

/** Returns the same URL with the role of a program, for a URL that names several hosts. */
export function buildRoleUrlOfHosts(url: string, program: Program): string {
  const { name, password } = logins[program]
  return url.replace(/\/\/[^@]*@/, `//${name}:${encodeURIComponent(password)}@`)
}
