// Redis (or Valkey) as a child, on loopback, as a cache: nothing is written to disk.
import { connect } from 'node:net'
import { findRedis, runnableRedis } from './redis-binary.ts'
import type { ReportProgress, RunningServer } from './running-server.ts'
import type { Place } from './server-account.ts'
import { startServer } from './server-process.ts'

type Options = {
  directory: string
  port?: number | undefined
  reportProgress?: ReportProgress | undefined
}

/**
 * Starts Redis with `directory` as its working directory and answers when it takes commands; null, with one line said, when
 * there is no program to be had. Getting one may take some ten seconds the first time.
 */
export async function startRedis({
  directory,
  port,
  reportProgress = () => {},
}: Options): Promise<RunningServer | null> {
  const redis = await findRedis(reportProgress)
  if (redis === null) return null
  const prepare = async (place: Place) => ({
    ...(await runnableRedis(redis, place)),
    args: (port: number) => [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      place.directory,
      '--save',
      '',
      '--appendonly',
      'no',
    ],
    url: (port: number) => `redis://127.0.0.1:${port}`,
    answers,
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

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), timeout: 2_000 })
    const done = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (reply) => done(reply.toString().startsWith('+PONG')))
    socket.once('error', () => done(false))
    socket.once('timeout', () => done(false))
    socket.once('close', () => done(false))
  })
}
