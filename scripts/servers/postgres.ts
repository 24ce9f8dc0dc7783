// PostgreSQL as a child: a cluster of its own in a directory, on loopback, behind a password.
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { runChild } from './child-lifetime.ts'
import { findPostgres, runnablePostgres } from './postgres-binaries.ts'
import type { ReportProgress, RunningServer } from './running-server.ts'
import { giveTo, type Place } from './server-account.ts'
import { type Command, startServer } from './server-process.ts'
import { startupError } from './startup-errors.ts'

const name = 'PostgreSQL'

type Options = {
  directory: string
  port?: number | undefined
  settings?: Record<string, string> | undefined
  reportProgress?: ReportProgress | undefined
}

/**
 * Starts PostgreSQL on a cluster in `directory`, made when there is none, and answers when it takes connections. The URL is the
 * superuser's, to the database `postgres`. `settings` are configuration parameters by their PostgreSQL names.
 */
export async function startPostgres({
  directory,
  port,
  settings = {},
  reportProgress = () => {},
}: Options): Promise<RunningServer> {
  const programs = findPostgres()
  const prepare = async (place: Place, earlierPid: number | undefined): Promise<Command> => {
    const native = await runnablePostgres(programs, place)
    const data = join(place.directory, 'data')
    const password = readOrCreatePassword(place, data)
    if (!existsSync(data)) {
      reportProgress(`creating a database cluster in ${place.directory}`)
      await initialise(native, place, data)
    }
    removeStaleLock(data, earlierPid)
    return {
      command: join(native, 'bin', 'postgres'),
      args: (port) => {
        const fixed = {
          listen_addresses: '127.0.0.1',
          port: String(port),
          unix_socket_directories: '',
        }
        return [
          '-D',
          data,
          ...Object.entries({ ...settings, ...fixed }).flatMap(([key, value]) => [
            '-c',
            `${key}=${value}`,
          ]),
        ]
      },
      url: (port) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      answers,
    }
  }
  return startServer({ name, directory, port, reportProgress, stopSignal: 'SIGINT', prepare })
}

function readOrCreatePassword(place: Place, data: string): string {
  const file = join(place.directory, 'password')
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (known !== '') {
    // A start may have been cut short before it could.
    giveTo(place.account, file)
    return known
  }
  if (existsSync(data))
    throw new Error(
      `${name}: the password in ${file} is missing. Restore it, or remove ${data} to start anew.`,
    )
  const password = randomBytes(24).toString('base64url')
  writeFileSync(file, password, { mode: 0o600 })
  giveTo(place.account, file)
  return password
}

// Made aside and renamed when complete, so that a start cut short leaves nothing that looks like a cluster.
async function initialise(native: string, place: Place, data: string): Promise<void> {
  for (const left of globSync('new-*', { cwd: place.directory }))
    rmSync(join(place.directory, left), { recursive: true, maxRetries: 5 })
  const aside = mkdtempSync(join(place.directory, 'new-'))
  giveTo(place.account, aside)
  // Ordering by code point and Unicode lower(), the same on every machine. The C library's locale must know UTF-8 too: pg_trgm
  // asks it what a letter is, and with plain C it would cut "camión" in two.
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const words = [
    '--encoding=UTF8',
    `--locale=${locale}`,
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ]
  const access = [
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${join(place.directory, 'password')}`,
  ]
  const options = { cwd: place.directory, account: place.account, env: { TZ: 'UTC' } }
  const { status, output } = await runChild(
    join(native, 'bin', 'initdb'),
    ['--no-sync', ...words, ...access, `--pgdata=${aside}`],
    options,
  )
  if (status === 0) return renameSync(aside, data)
  rmSync(aside, { recursive: true, force: true })
  throw startupError({
    name,
    directory: place.directory,
    how: `could not create its cluster (initdb: exit status ${status})`,
    log: output,
  })
}

// After a kill the lock file stays, and PostgreSQL would believe it if its pid has gone to another process, as it soon does in a container.
function removeStaleLock(data: string, earlierPid: number | undefined): void {
  const lock = join(data, 'postmaster.pid')
  if (existsSync(lock) && Number.parseInt(readFileSync(lock, 'utf8'), 10) === earlierPid)
    rmSync(lock)
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code?.startsWith('28')) {
      throw new Error(
        `${name} refuses the password in its directory: ${error.message}. Put the right one into the file "password" there.`,
      )
    }
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
