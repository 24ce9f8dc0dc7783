// Starts the PostgreSQL of the distribution, which has pg_dump, pg_restore and psql, unlike that of
// npm. It is also another major version.
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

export type DebianPostgres = {
  /** The folder of psql, pg_dump and so on. */
  programs: string
  port: number
  /** With the owner and its password. */
  url: string
  /** The folder of the Unix socket. */
  socket: string
}

/**
 * Starts an empty cluster on a free port and stops it with the test. Its superuser and owner of the
 * database `quotes` is `quotes`, as in docker-compose.yml. With a password of the owner, everybody
 * needs one, except through the socket in `socket`, as in the container. Otherwise nobody does.
 */
export async function startDebianPostgres(
  t: { teardown(fn: () => unknown): void },
  { ownerPassword = '' } = {},
): Promise<DebianPostgres> {
  const programs = findPrograms()
  const directory = createTemporaryDirectory(t, 'debian-postgres')
  const data = join(directory, 'data')
  const port = await chooseFixedPort()
  const isRoot = process.getuid?.() === 0
  const run = (program: string, args: string[]) =>
    execFileSync(
      isRoot ? 'setpriv' : join(programs, program),
      [
        ...(isRoot
          ? ['--reuid=postgres', '--regid=postgres', '--clear-groups', join(programs, program)]
          : []),
        ...args,
      ],
      { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] },
    )
  if (isRoot) execFileSync('chown', ['postgres', directory])
  else chmodSync(directory, 0o700)
  const passwordFile = join(directory, 'password')
  writeFileSync(passwordFile, ownerPassword)
  const access = ['--username=quotes', '--auth-local=trust', '--no-sync']
  const remote = ownerPassword
    ? ['--auth-host=scram-sha-256', `--pwfile=${passwordFile}`]
    : ['--auth-host=trust']
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8']
  run('initdb', [`--pgdata=${data}`, ...access, ...remote, ...locale])
  const options = `-h 127.0.0.1 -p ${port} -k "${directory}" -c fsync=off`
  run('pg_ctl', ['start', '-w', '-D', data, '-o', options, '-l', join(directory, 'log')])
  t.teardown(() => run('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data]))
  const owner = ownerPassword ? `quotes:${ownerPassword}` : 'quotes'
  const url = `postgres://${owner}@127.0.0.1:${port}/quotes`
  execFileSync(join(programs, 'createdb'), [
    ...['-h', directory, '-p', `${port}`, '-U', 'quotes', 'quotes'],
  ])
  return { programs, port, url, socket: directory }
}

/** Returns the folder of the newest version that is installed. */
function findPrograms(): string {
  const [newest] = globSync('/usr/lib/postgresql/*/bin/initdb').sort().reverse()
  if (newest === undefined)
    throw new Error('Install the package postgresql of the distribution: its pg_dump is tested.')
  return newest.replace(/\/initdb$/, '')
}
