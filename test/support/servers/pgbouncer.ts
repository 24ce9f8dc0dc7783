// Starts PgBouncer in front of the PostgreSQL of the tests.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { giveTo } from '../../../scripts/servers/data-directory.ts'
import { findProgram } from '../../../scripts/servers/programs.ts'
import { startServer } from '../../../scripts/servers/server-process.ts'
import { logins } from '../database/database-roles.ts'
import { createTemporaryDirectory } from '../temporary-directory.ts'

type PgBouncer = {
  /** Returns the same URL with the address of PgBouncer. */
  through(url: string): string
}

/**
 * Starts PgBouncer in front of the server of `url`, for its user and the roles of the programs. It
 * ends with the test. `settings` are lines of its configuration.
 */
export async function startPgBouncer(
  t: { teardown(fn: () => unknown): void },
  url: string,
  settings: string[] = ['pool_mode = transaction'],
): Promise<PgBouncer> {
  const directory = createTemporaryDirectory(t, 'pgbouncer')
  const { hostname, port: serverPort, username, password, pathname } = new URL(url)
  const progress: string[] = []
  const program = await findProgram(pgBouncer, (line) => progress.push(line))
  if (!program) throw new Error(`The tests need a real PgBouncer: ${progress.join('; ')}`)
  const users = [
    { name: decodeURIComponent(username), password: decodeURIComponent(password) },
    ...Object.values(logins),
  ]
  const through = (port: number, address: string) => {
    const own = new URL(address)
    own.hostname = '127.0.0.1'
    own.port = String(port)
    return own.href
  }
  const server = await startServer({
    name: 'PgBouncer',
    directory,
    port: undefined,
    reportProgress: () => undefined,
    stopSignal: 'SIGINT',
    prepare: async (place) => {
      const [config, userList] = ['pgbouncer.ini', 'users.txt'].map((name) =>
        join(place.directory, name),
      ) as [string, string]
      const lines = users.map(({ name, password }) => `"${name}" "${password}"`)
      writeFileSync(userList, `${lines.join('\n')}\n`)
      const write = (port: number) =>
        writeFileSync(
          config,
          [
            '[databases]',
            `* = host=${hostname} port=${serverPort}`,
            '[pgbouncer]',
            'listen_addr = 127.0.0.1',
            `listen_port = ${port}`,
            'unix_socket_dir =',
            'auth_type = scram-sha-256',
            `auth_file = ${userList}`,
            ...settings,
            '',
          ].join('\n'),
        )
      write(0)
      for (const file of [config, userList]) giveTo(place.account, file)
      return {
        ...(await program.prepareFor(place)),
        args: (port) => {
          write(port)
          return [config]
        },
        url: (port) => through(port, `postgres://${username}:${password}@host${pathname}`),
        isAnswering,
      }
    },
  })
  t.teardown(() => server.stop())
  const port = Number(new URL(server.url).port)
  return { through: (address) => through(port, address) }
}

async function isAnswering(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    // It may not listen yet. If it never does, the start fails with its log.
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

const pgBouncer = {
  name: 'pgbouncer',
  title: 'PgBouncer',
  programNames: ['pgbouncer'],
  packagedProgram: 'usr/sbin/pgbouncer',
  advice: 'install pgbouncer',
}
