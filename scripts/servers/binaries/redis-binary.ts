// Finds the program of Redis or Valkey.
import type { Place } from '../data-directory/server-account.ts'
import type { ReportProgress } from '../running-server.ts'
import {
  type FoundProgram,
  findProgram,
  runnableProgram,
  unpackDirectory,
} from './debian-program.ts'

const redis = {
  name: 'redis-server',
  title: 'Redis',
  programNames: ['redis-server', 'valkey-server'],
  packagedProgram: 'usr/bin/redis-server',
  advice: 'install redis-server or valkey-server, or set REDIS_URL',
}

/**
 * Finds Redis or Valkey, or installs Redis. Returns null, after one line of progress, if that
 * fails. Tests pass another `path` and `unpackTo`.
 */
export const findRedis = (
  reportProgress: ReportProgress,
  path = process.env.PATH ?? '',
  unpackTo = unpackDirectory('redis'),
): Promise<FoundProgram | null> => findProgram(redis, { reportProgress, path, unpackTo })

/** Returns the command and environment that run Redis for the account. */
export const runnableRedis = (program: FoundProgram, place: Place) =>
  runnableProgram(program, redis, place)
