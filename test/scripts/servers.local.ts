// Tests the embedded servers: they start, keep their data, explain errors, and never outlive the
// process that started them.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import t from 'tap'
import { findMeilisearch, startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { findPostgres, runnablePostgres, startPostgres } from '../../scripts/servers/postgres.ts'
import { findProgram } from '../../scripts/servers/programs.ts'
import { redisProgram, startRedis } from '../../scripts/servers/redis.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const isRoot = process.getuid?.() === 0
const masterKey = 'a key for tests only'
const settings = { fsync: 'off' }

t.test('PostgreSQL keeps its data and its password across a restart', async (t) => {
  const directory = createTemporaryDirectory(t, 'servers')
  const first = await startPostgres({ directory, settings })
  await query(first.url, `create table note (words text); insert into note values ('sigue aquí')`)
  await first.stop()
  t.equal(isAlive(first.pid), false, 'stop() stops it')

  const second = await startPostgres({ directory, settings: { ...settings, work_mem: '5MB' } })
  t.teardown(second.stop)
  t.match(await query(second.url, 'select words from note'), [{ words: 'sigue aquí' }])
  t.match(await query(second.url, 'show work_mem'), [{ work_mem: '5MB' }], 'settings apply')
  t.match(await query(second.url, 'show listen_addresses'), [{ listen_addresses: '127.0.0.1' }])
  const wrong = new URL(second.url)
  t.equal(wrong.password, new URL(first.url).password, 'the password stays the same')
  wrong.password = 'wrong'
  await t.rejects(query(wrong.href, 'select 1'), { code: '28P01' })
  t.equal(statSync(join(directory, 'password')).mode & 0o777, 0o600)
  t.equal(uidOf(second), expectedUid())

  await t.test('knows the letters of Spanish', async (t) => {
    await query(second.url, 'create extension pg_trgm')
    t.match(
      await query(
        second.url,
        `select lower('ÑÁÉÜ') as lower, similarity('CAMIÓN', 'camión') as same`,
      ),
      [{ lower: 'ñáéü', same: 1 }],
    )
    const [row] = await query(second.url, `select cardinality(show_trgm('camión')) as trigrams`)
    t.equal(row?.trigrams, 7, 'one word of six letters, not "cami" and "n"')
  })
})

t.test(
  'Meilisearch keeps its data across a restart, and hides its key from the process list',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'servers')
    const first = await startMeilisearch({ directory, masterKey })
    t.equal((await fetch(`${first.url}/indexes`)).status, 401, 'requires a key')
    await ask(first, '/indexes', { method: 'POST', body: '{"uid":"kept","primaryKey":"id"}' })
    await until(async () => (await ask(first, '/indexes/kept')).status === 200)
    t.notMatch(commandLineOf(first), masterKey)
    await first.stop()
    t.equal(isAlive(first.pid), false, 'stop() stops it')

    const second = await startMeilisearch({ directory, masterKey })
    t.teardown(second.stop)
    t.equal((await ask(second, '/indexes/kept')).status, 200)
    t.equal(uidOf(second), expectedUid())
  },
)

t.test('Redis starts and answers', async (t) => {
  const progress: string[] = []
  const server = await startRedis({
    directory: createTemporaryDirectory(t, 'servers'),
    reportProgress: (line) => progress.push(line),
  })
  if (server === null) throw new Error(`these tests need a Redis: ${progress.join('; ')}`)
  t.teardown(server.stop)
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  await client.set('key', 'value')
  t.equal(await client.get('key'), 'value')
  t.equal(uidOf(server), expectedUid())
  await server.stop()
  t.equal(isAlive(server.pid), false, 'stop() stops it')
})

t.test(
  'Ctrl+C does not reach the servers, kill -9 of their parent stops them, and the next start works',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'servers')
    const fixture = fileURLToPath(new URL('servers-parent-process.ts', import.meta.url))
    const parent = spawn(process.execPath, [fixture, directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    })
    t.teardown(() => parent.kill('SIGKILL'))
    const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]()
    const servers: { url: string; pid: number }[] = JSON.parse((await lines.next()).value ?? '')
    const [postgres] = servers
    const backends = await query(
      postgres?.url ?? '',
      `select pid from pg_stat_activity where pid <> pg_backend_pid()`,
    )
    const pids = [...servers, ...backends].map(({ pid }) => Number(pid))
    t.ok(pids.length >= 6 && pids.every(isAlive), 'three servers and the processes of PostgreSQL')

    process.kill(-(parent.pid ?? 0), 'SIGINT') // to the process group, as a terminal does
    t.equal((await lines.next()).value, 'interrupted')
    await sleep(300)
    t.ok(pids.every(isAlive), 'Ctrl+C does not reach them')

    await t.rejects(startPostgres({ directory: join(directory, 'postgres') }), {
      message: /already running .* Stop that run first/,
    })

    process.kill(servers[1]?.pid ?? 0, 'SIGSTOP') // a paused server must end too
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    const again = await startPostgres({ directory: join(directory, 'postgres'), settings })
    t.teardown(again.stop)
    t.match(await query(again.url, 'select 1 as one'), [{ one: 1 }], 'a start right after the kill')
    await until(() => !pids.some(isAlive))
    t.pass('all have ended')
  },
)

t.test('the next start completes one that was interrupted by kill -9', async (t) => {
  const directory = createTemporaryDirectory(t, 'servers')
  const fixture = fileURLToPath(new URL('servers-parent-process.ts', import.meta.url))
  const parent = spawn(process.execPath, [fixture, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await until(() => existsSync(join(directory, 'postgres/password')))
  parent.kill('SIGKILL')
  const server = await startPostgres({ directory: join(directory, 'postgres'), settings })
  t.teardown(server.stop)
  t.match(await query(server.url, 'select 1 as one'), [{ one: 1 }])
})

t.test('reads a password file whose owner an interrupted start did not change', async (t) => {
  const directory = createTemporaryDirectory(t, 'servers')
  // Started by root, the server runs as nobody, who owns the directory already.
  if (process.getuid?.() === 0) chownSync(directory, 65_534, 65_534)
  writeFileSync(join(directory, 'password'), 'written-by-an-interrupted-start', { mode: 0o600 })
  const server = await startPostgres({ directory, settings })
  t.teardown(server.stop)
  t.match(await query(server.url, 'select 1 as one'), [{ one: 1 }])
})

t.test('stops a paused server', async (t) => {
  const server = await startMeilisearch({
    directory: createTemporaryDirectory(t, 'servers'),
    masterKey,
  })
  process.kill(server.pid ?? 0, 'SIGSTOP')
  await server.stop()
  t.equal(isAlive(server.pid), false)
})

t.test('reports a server that dies, and stop() still works', async (t) => {
  const server = await startMeilisearch({
    directory: createTemporaryDirectory(t, 'servers'),
    masterKey,
  })
  process.kill(server.pid ?? 0, 'SIGKILL')
  t.match(await server.exited, /Meilisearch \(PID \d+\) ended unexpectedly: ended by SIGKILL/)
  await server.stop()
  await server.stop()
})

t.test('names a taken port', async (t) => {
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  t.teardown(() => occupant.close())
  const address = occupant.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const message = new RegExp(
    `port ${port} on 127.0.0.1 is in use. ` +
      'Stop the process that listens there, or choose another port',
  )
  await t.rejects(startPostgres({ directory: createTemporaryDirectory(t, 'servers'), port }), {
    message,
  })
  await t.rejects(
    startMeilisearch({ directory: createTemporaryDirectory(t, 'servers'), port, masterKey }),
    {
      message,
    },
  )
  await t.rejects(startRedis({ directory: createTemporaryDirectory(t, 'servers'), port }), {
    message,
  })
})

t.test('shows the log of a failed start, and names a wrong or missing password file', async (t) => {
  const directory = createTemporaryDirectory(t, 'servers')
  const server = await startPostgres({ directory, settings })
  await server.stop()
  await t.rejects(startPostgres({ directory, settings: { shared_buffers: 'nonsense' } }), {
    message: /did not start: exit status 1.*invalid value for parameter "shared_buffers"/s,
  })
  await t.rejects(
    startMeilisearch({ directory: createTemporaryDirectory(t, 'servers'), masterKey: 'short' }),
    {
      message: /at least 16 bytes/,
    },
  )
  writeFileSync(join(directory, 'password'), 'wrong')
  await t.rejects(startPostgres({ directory }), {
    message: /rejects the password in its directory/,
  })
  writeFileSync(join(directory, 'password'), '')
  await t.rejects(startPostgres({ directory }), {
    message: /the password in .* is missing. Restore it, or delete/,
  })
})

t.test('says what to do on a platform without programs', async (t) => {
  t.throws(() => findPostgres('sunos-x64'), {
    message: /linux-x64, .* this is sunos-x64. Or set DATABASE_URL/,
  })
  t.throws(() => findMeilisearch('', 'linux-arm64'), {
    message: /linux-x64 only, and this is linux-arm64. Set MEILI_BIN .* or MEILI_URL/,
  })
  const progress: string[] = []
  t.equal(
    await findProgram(redisProgram, (line) => progress.push(line), {
      path: '/nowhere',
      unpackTo: join(createTemporaryDirectory(t, 'servers'), 'redis'),
    }),
    null,
  )
  t.equal(progress.length, 1)
  t.match(progress, [/install redis-server or valkey-server, or set REDIS_URL/])
})

t.test('creates the library links that an installation without scripts omits', async (t) => {
  const directory = createTemporaryDirectory(t, 'servers')
  const withoutLinks = join(createTemporaryDirectory(t, 'servers'), 'native')
  cpSync(findPostgres(), withoutLinks, {
    recursive: true,
    filter: (file) => !lstatSync(file).isSymbolicLink(),
  })
  t.notOk(existsSync(join(withoutLinks, 'lib/libpq.so.5')))
  const place = { directory, account: {} }
  t.equal(await runnablePostgres(withoutLinks, place), withoutLinks)
  t.ok(existsSync(join(withoutLinks, 'lib/libpq.so.5')))
})

// Servers started by root run as nobody, who cannot enter root's directories.
if (isRoot) {
  t.test('uses a directory below /var/lib if nobody cannot enter the requested one', async (t) => {
    const checkout = createTemporaryDirectory(t, 'servers')
    chmodSync(checkout, 0o700)
    const directory = join(checkout, 'data/postgres')
    const progress: string[] = []
    const first = await startPostgres({
      directory,
      settings,
      reportProgress: (line) => progress.push(line),
    })
    const actual = readFileSync(join(directory, 'moved-to'), 'utf8').trim()
    t.teardown(() => rmSync(actual, { recursive: true, force: true }))
    t.match(progress, [`its files are in ${actual}`])
    await query(first.url, 'create table kept ()')
    await first.stop()
    const second = await startPostgres({ directory, settings })
    t.teardown(second.stop)
    t.match(await query(second.url, 'select from kept'), [])
    t.equal(uidOf(second), expectedUid())
    await second.stop()

    const redis = await startRedis({ directory: join(checkout, 'data/redis') })
    await redis?.stop()
    const moved = readFileSync(join(checkout, 'data/redis/moved-to'), 'utf8').trim()
    copyFileSync(join(import.meta.dirname, '../../Makefile'), join(checkout, 'Makefile'))
    const cleaned = spawnSync('make', ['clean'], { cwd: checkout, encoding: 'utf8' })
    t.match(cleaned, { status: 0, stdout: `Removing ${moved}, where the demo has put data/redis` })
    t.notOk(existsSync(moved), '`make clean` deletes it')
  })

  t.test('does not give away a directory of root that contains other files', async (t) => {
    const directory = createTemporaryDirectory(t, 'servers')
    writeFileSync(join(directory, 'foreign'), '')
    await t.rejects(startMeilisearch({ directory, masterKey }), {
      message: /contains other files. Choose another directory/,
    })
    t.equal(statSync(join(directory, 'foreign')).uid, 0)
  })

  t.test('runs under the account that owns the directory', async (t) => {
    const directory = createTemporaryDirectory(t, 'servers')
    chownSync(directory, 12345, 12345)
    const server = await startMeilisearch({ directory, masterKey })
    t.teardown(server.stop)
    t.equal(uidOf(server), 12345)
  })
} else {
  t.test('names a directory that is not writable', async (t) => {
    const directory = createTemporaryDirectory(t, 'servers')
    chmodSync(directory, 0o500)
    await t.rejects(startMeilisearch({ directory, masterKey }), {
      message: /is not writable for this user. Choose another directory/,
    })
  })
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

function ask(meilisearch: RunningServer, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }
  return fetch(`${meilisearch.url}${path}`, { ...init, headers })
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('the condition does not hold after 30 s')
    await sleep(20)
  }
}

/** Zombies do not count as alive. */
const isAlive = (pid: number | null) => !/^Z?$/.test(ps('stat', pid).slice(0, 1))

/** Servers started by root run as nobody. */
const expectedUid = () => (isRoot ? 65534 : process.getuid?.())
const uidOf = ({ pid }: RunningServer) => Number(ps('uid', pid))
const commandLineOf = ({ pid }: RunningServer) => ps('command', pid)

// Slim images have no ps, and macOS has no /proc.
function ps(what: 'uid' | 'command' | 'stat', pid: number | null): string {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-o', `${what}=`, '-p', String(pid)], {
      encoding: 'utf8',
    }).stdout.trim()
  if (!existsSync(`/proc/${pid}/stat`)) return ''
  if (what === 'uid') return String(statSync(`/proc/${pid}`).uid)
  if (what === 'command') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
}
