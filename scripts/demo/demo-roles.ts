// The database roles that the demo's programs run under: the same ones at each start, without a file of passwords.
import { createHmac } from 'node:crypto'
import type { Login, Program } from '../../src/database/roles.ts'
import type { DemoServers } from './demo-servers.ts'

const jobs: Program[] = ['api', 'indexer', 'importer']

/** Names, and passwords that only who has the engine's master key can tell; and with both the URLs of the demo's database. */
export function demoRoles({
  databaseUrl,
  meiliMasterKey,
}: Pick<DemoServers, 'databaseUrl' | 'meiliMasterKey'>): {
  logins: Record<Program, Login>
  urls: Record<Program, string>
} {
  const made = jobs.map((job) => {
    const login = {
      name: `quotes_${job}`,
      password: createHmac('sha256', meiliMasterKey)
        .update(`database role ${job}`)
        .digest('base64url'),
    }
    const url = new URL(databaseUrl)
    url.username = login.name
    url.password = login.password
    return { job, login, url: url.href }
  })
  return {
    logins: Object.fromEntries(made.map(({ job, login }) => [job, login])) as Record<
      Program,
      Login
    >,
    urls: Object.fromEntries(made.map(({ job, url }) => [job, url])) as Record<Program, string>,
  }
}
