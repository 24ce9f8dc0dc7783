// Finds the program of Redis: on the PATH, from an earlier download, or from the Debian packages.
import { globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from '../data-directory/server-account.ts'
import type { ReportProgress } from '../running-server.ts'
import { installRedisPackages } from './redis-debian-packages.ts'
import { copyInto, versionOf } from './runnable-binary.ts'

export type RedisProgram = {
  program: string
  /** The directory with the unpacked packages, for a program that is not the system's. */
  unpacked?: string
}

const cache = fileURLToPath(new URL('../../../node_modules/.cache/redis', import.meta.url))
const programNames = ['redis-server', 'valkey-server']

/**
 * Finds Redis or Valkey, or installs Redis. Returns null, after one line of progress, if that
 * fails. Tests pass another `path` and `unpackTo`.
 */
export async function findRedis(
  reportProgress: ReportProgress,
  path = process.env.PATH ?? '',
  unpackTo = cache,
): Promise<RedisProgram | null> {
  const found = findInstalled(path, unpackTo)
  if (found !== null) return found
  const problem = await installRedisPackages(unpackTo, path, reportProgress)
  const installed = findInstalled(path, unpackTo)
  if (installed === null)
    reportProgress(
      `no Redis found (${problem ?? 'the program from its packages does not run'}): ` +
        'install redis-server or valkey-server, or set REDIS_URL',
    )
  return installed
}

function findInstalled(path: string, unpackTo: string): RedisProgram | null {
  const candidates: RedisProgram[] = [
    ...programNames.flatMap((name) =>
      path.split(delimiter).map((directory) => ({ program: join(directory || '.', name) })),
    ),
    { program: join(unpackTo, 'usr/bin/redis-server'), unpacked: unpackTo },
  ]
  const ownPlace = { directory: '/', account: {} }
  return (
    candidates.find(
      ({ program, unpacked }) => versionOf(program, ownPlace, libraryPath(unpacked)) !== undefined,
    ) ?? null
  )
}

/** Returns the command and environment that run Redis for the account, from a copy if necessary. */
export async function runnableRedis(
  { program, unpacked }: RedisProgram,
  place: Place,
): Promise<{ command: string; env: NodeJS.ProcessEnv }> {
  if (versionOf(program, place, libraryPath(unpacked)) !== undefined)
    return { command: program, env: libraryPath(unpacked) }
  const copy = await copyInto(place, unpacked ?? program, 'redis-program')
  return unpacked === undefined
    ? { command: copy, env: {} }
    : { command: join(copy, 'usr/bin/redis-server'), env: libraryPath(copy) }
}

/** Makes the libraries of the unpacked packages known to the loader. */
function libraryPath(unpacked: string | undefined): NodeJS.ProcessEnv {
  if (unpacked === undefined) return {}
  const folders = new Set(
    globSync('**/*.so*', { cwd: unpacked }).map((file) => join(unpacked, dirname(file))),
  )
  return { LD_LIBRARY_PATH: [...folders].join(delimiter) }
}
