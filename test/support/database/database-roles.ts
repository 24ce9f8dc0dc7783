// The database roles of the programs under test, and the URLs that log in with them.
import type { Login, Program } from '../../../src/database/role-grants.ts'

export const logins: Record<Program, Login> = {
  api: { name: 'tqs_test_api', password: 'of the api' },
  indexer: { name: 'tqs_test_indexer', password: 'of the indexer' },
  importer: { name: 'tqs_test_importer', password: 'of the importer' },
}

/** Returns the URL of the same database, which may name several hosts, with a program's role. */
export function buildRoleUrl(url: string, program: Program): string {
  const { name, password } = logins[program]
  return url.replace(/\/\/[^@]*@/, `//${name}:${encodeURIComponent(password)}@`)
}

export const buildRoleUrls = (url: string): Record<Program, string> => ({
  api: buildRoleUrl(url, 'api'),
  indexer: buildRoleUrl(url, 'indexer'),
  importer: buildRoleUrl(url, 'importer'),
})
