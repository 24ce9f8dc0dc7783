// Runs Redis (or Valkey) as a child process on loopback, as a cache: it writes nothing to disk.
import { connect } from 'node:net'
import type { Place } from './data-directory.ts'
import { findProgram, type WantedProgram } from './programs.ts'
import { type ReportProgress, type RunningServer, startupProbeTimeoutMs } from './running-server.ts'
import { type Command, startServer } from './server-process.ts'

/** Redis or Valkey. */
export const redisProgram: WantedProgram = {
  name: 'redis-server',
  title: 'Redis',
  programNames: ['redis-server', 'valkey-server'],
  packagedProgram: 'usr/bin/redis-server',
  advice: 'install redis-server or valkey-server, or set REDIS_URL',
}

/** Neither snapshots nor an append-only file. */
const withoutPersistence = ['--save', '', '--appendonly', 'no']

type Options = {
  directory: string
  port?: number | undefined
  reportProgress?: ReportProgress | undefined
}

/**
 * Starts Redis with `directory` as its working directory. Resolves when it executes commands, or
 * with null, after one line of progress, if no program can be found. The first start may take some
 * ten seconds to install the program.
 */
export async function startRedis({
  directory,
  port,
  reportProgress = () => {},
}: Options): Promise<RunningServer | null> {
  const redis = await findProgram(redisProgram, reportProgress)
  if (redis === null) return null
  const prepare = async (place: Place): Promise<Command> => ({
    ...(await redis.prepareFor(place)),
    args: (port) => [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      place.directory,
      ...withoutPersistence,
    ],
    url: (port) => `redis://127.0.0.1:${port}`,
    isAnswering,
  })
  return startServer({
    name: 'Redis',
    directory,
    port,
    reportProgress,
    stopSignal: 'SIGTERM',
    prepare,
  })
}

/** Whether Redis answers, also if it requires a password. */
export function isAnswering(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const port = Number(new URL(url).port)
    const socket = connect({ host: '127.0.0.1', port, timeout: startupProbeTimeoutMs })
    const finish = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (reply) => finish(/^(\+PONG|-NOAUTH)/.test(reply.toString())))
    socket.once('error', () => finish(false))
    socket.once('timeout', () => finish(false))
    socket.once('close', () => finish(false))
  })
}
