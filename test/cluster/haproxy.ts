// Starts HAProxy with the file that the documentation recommends, in front of three API processes.
import { copyFileSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { giveTo } from '../../scripts/servers/data-directory.ts'
import { findOnPath } from '../../scripts/servers/programs.ts'
import { startServer } from '../../scripts/servers/server-process.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const requiredPrograms = [
  { names: ['haproxy'], debianPackage: 'haproxy' },
  { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' },
]
/** Throws an error that names every program that is missing, and how to install it. */
export function checkRequiredPrograms(): void {
  const missing = requiredPrograms.filter(({ names }) => findOnPath(...names) === undefined)
  if (missing.length === 0) return
  const packages = missing.map(({ debianPackage }) => debianPackage).join(' ')
  throw new Error(
    `The cluster test needs programs that are missing: ` +
      `${missing.map(({ names }) => names.join(' or ')).join(', ')}. ` +
      `Install them (Debian: apt-get install ${packages}).`,
  )
}

const recipe = join(import.meta.dirname, '../../deploy/proxy/haproxy-several.cfg')

export type Haproxy = {
  url: string
  /** Everything that it has logged, without line breaks at the end. */
  readLog(): string
}

/** Starts it in front of the three processes. It ends with the test. */
export async function startHaproxy(
  t: { teardown(fn: () => unknown): void },
  apis: readonly { url: string; opsUrl: string }[],
): Promise<Haproxy> {
  const directory = createTemporaryDirectory(t, 'haproxy')
  const port = await chooseFixedPort()
  const addresses = apis.flatMap(({ url, opsUrl }, index) => [
    [`API_${index + 1}`, new URL(url).host],
    [`API_${index + 1}_OPS_PORT`, new URL(opsUrl).port],
  ])
  const server = await startServer({
    name: 'HAProxy',
    directory,
    port,
    reportProgress: () => undefined,
    stopSignal: 'SIGTERM',
    prepare: async (place) => {
      const file = join(place.directory, 'haproxy.cfg')
      copyFileSync(recipe, file)
      giveTo(place.account, file)
      return {
        command: findOnPath('haproxy') ?? 'haproxy',
        args: () => ['-f', file],
        env: { ...Object.fromEntries(addresses), QUOTES_BIND: `127.0.0.1:${port}` },
        url: () => `http://127.0.0.1:${port}`,
        isAnswering: () => isListening(port),
      }
    },
  })
  t.teardown(() => server.stop())
  return {
    url: server.url,
    readLog: () => readFileSync(join(directory, 'server.log'), 'utf8').trimEnd(),
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const finish = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('connect', () => finish(true)).once('error', () => finish(false))
  })
}
