// Where the program of Redis comes from: the PATH, an earlier unpacking, else the Debian packages.
import { globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installRedisPackages } from './redis-debian-packages.ts'
import { copyInto, versionOf } from './runnable-binary.ts'
import type { ReportProgress } from './running-server.ts'
import type { Place } from './server-account.ts'

/** `unpacked`: the directory that the packages were unpacked into, for a program that is not the system's. */
export type RedisProgram = { program: string; unpacked?: string }

const cache = fileURLToPath(new URL('../../node_modules/.cache/redis', import.meta.url))

/** Finds Redis or Valkey, or gets it. null, with one line said, when there is none to be had. Tests look in another `path` and `unpackTo`. */
export async function findRedis(
  reportProgress: ReportProgress,
  path = process.env.PATH ?? '',
  unpackTo = cache,
): Promise<RedisProgram | null> {
  const look = () => {
    const installed = ['redis-server', 'valkey-server'].flatMap((name) =>
      path.split(delimiter).map((directory) => join(directory || '.', name)),
    )
    const candidates: RedisProgram[] = [
      ...installed.map((program) => ({ program })),
      { program: join(unpackTo, 'usr/bin/redis-server'), unpacked: unpackTo },
    ]
    const us = { directory: '/', account: {} }
    return (
      candidates.find(
        ({ program, unpacked }) => versionOf(program, us, libraries(unpacked)) !== undefined,
      ) ?? null
    )
  }
  const found = look()
  if (found !== null) return found
  const problem = await installRedisPackages(unpackTo, path, reportProgress)
  const got = look()
  if (got === null)
    reportProgress(
      `no Redis here (${problem ?? 'its packages do not run'}): install redis-server or valkey-server, or set REDIS_URL`,
    )
  return got
}

/** Answers the command and environment that run Redis for the account of the place, from a copy there when need be. */
export async function runnableRedis(
  { program, unpacked }: RedisProgram,
  place: Place,
): Promise<{ command: string; env: NodeJS.ProcessEnv }> {
  if (versionOf(program, place, libraries(unpacked)) !== undefined)
    return { command: program, env: libraries(unpacked) }
  const copy = await copyInto(place, unpacked ?? program, 'redis-program')
  return unpacked === undefined
    ? { command: copy, env: {} }
    : { command: join(copy, 'usr/bin/redis-server'), env: libraries(copy) }
}

function libraries(unpacked: string | undefined): NodeJS.ProcessEnv {
  if (unpacked === undefined) return {}
  const folders = new Set(
    globSync('**/*.so*', { cwd: unpacked }).map((file) => join(unpacked, dirname(file))),
  )
  return { LD_LIBRARY_PATH: [...folders].join(delimiter) }
}
