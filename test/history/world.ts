// The whole service as real processes that can be killed, paused and started again: three servers, two APIs, two indexers.
import type { ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startMeilisearch } from '../../scripts/sidecars/meilisearch.ts'
import { choosePort } from '../../scripts/sidecars/port.ts'
import { startPostgres } from '../../scripts/sidecars/postgres.ts'
import { startRedis } from '../../scripts/sidecars/redis.ts'
import type { Sidecar } from '../../scripts/sidecars/sidecar.ts'
import { spawnTethered } from '../../scripts/sidecars/tether.ts'
import { recordCompany } from '../../src/company.ts'
import { openDatabase, openEngine } from '../../src/connections.ts'
import { migrate } from '../../src/database/migrate.ts'
import { grantRoles } from '../../src/database/roles.ts'
import { ensureEngineKeys, indexerKey, searchKey } from '../../src/search/engine-keys.ts'
import { asRole, company, logins } from '../helper.ts'

export type PieceName = 'postgres' | 'redis' | 'engine' | 'indexer-1' | 'indexer-2' | 'api-1' | 'api-2'

/** A process that somebody keeps running: one that ends is started again. */
export type Piece = {
  /** Ends it with -9, lets `meanwhile` happen, and has it started again after so many milliseconds. Resolves when it answers. */
  kill(forMs: number, meanwhile?: () => void): Promise<void>
  /** The same with the polite signal. */
  restart(forMs: number): Promise<void>
  /** SIGSTOP, and after so many milliseconds SIGCONT. */
  pause(forMs: number): Promise<void>
  stop(): Promise<void>
}

export type World = {
  databaseUrl: string
  engineUrl: string
  masterKey: string
  apis: { name: PieceName; url: string }[]
  pieces: Record<PieceName, Piece>
  engineData: string
  /** What the programs wrote, by name. */
  log(name: PieceName): string
  stop(): Promise<void>
}

const root = join(import.meta.dirname, '../..')
const masterKey = 'a-master-key-for-histories'
export const indexName = 'products'

/** Starts everything in `directory`, with a migrated database, and answers when both APIs do. */
export async function startWorld(directory: string): Promise<World> {
  const log = (name: PieceName) => join(directory, `${name}.log`)
  const within = (name: string) => {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o755 })
    return join(directory, name)
  }
  // A committed transaction must survive the killing of the server, but no power cut is played.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '100', max_wal_size: '256MB' }
  const [databasePort, redisPort, enginePort] = [await choosePort('PostgreSQL'), await choosePort('Redis'), await choosePort('Meilisearch')]
  const postgres = await server(() => startPostgres({ directory: within('postgres'), port: databasePort, settings }))
  const redis = await server(() => startRedis({ directory: within('redis'), port: redisPort }).then(required))
  const engine = await server(async () => {
    const started = await startMeilisearch({ directory: within('engine'), port: enginePort, masterKey })
    // As the operator does by scripts/migrate.ts: an engine that lost its data has lost its keys.
    await ensureEngineKeys(openEngine(started.url, masterKey))
    return started
  })

  const db = openDatabase(postgres.url, { connections: 2 })
  await migrate(db)
  await recordCompany(db, company)
  await grantRoles(db, logins)
  await db.schema
    .createTable('history_commits')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .execute()
  await db.destroy()
  const { seller, ...rest } = company
  writeFileSync(join(directory, 'company.json'), JSON.stringify({ ...seller, ...rest }))

  const shared = { MEILI_URL: engine.url, SEARCH_INDEX: indexName }
  const indexer = (name: PieceName) =>
    program(
      ['scripts/indexer.ts'],
      {
        ...shared,
        INDEXER_DATABASE_URL: asRole(postgres.url, 'indexer'),
        MEILI_INDEXER_KEY: indexerKey(masterKey),
        POPULARITY_MINUTES: '1',
      },
      log(name),
      async () => true,
    )
  const api = async (name: PieceName) => {
    const [port, opsPort] = [await choosePort(name), await choosePort(name)]
    const url = `http://127.0.0.1:${port}`
    const env = {
      ...shared,
      API_DATABASE_URL: asRole(postgres.url, 'api'),
      REDIS_URL: redis.url,
      MEILI_SEARCH_KEY: searchKey(masterKey),
      COMPANY_FILE: join(directory, 'company.json'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
      ANONYMOUS_SCOPES: 'search:read,stats:read',
      SEARCH_LIMIT_PER_SECOND: '100000',
      LOG_LEVEL: 'warn',
    }
    const answers = () =>
      fetch(`http://127.0.0.1:${opsPort}/health/live`).then(
        ({ ok }) => ok,
        () => false,
      )
    return { name, url, piece: await program(['src/server.ts'], env, log(name), answers) }
  }
  const apis = await Promise.all([api('api-1'), api('api-2')])
  const [one, two] = apis
  const pieces = {
    postgres: postgres.piece,
    redis: redis.piece,
    engine: engine.piece,
    'indexer-1': await indexer('indexer-1'),
    'indexer-2': await indexer('indexer-2'),
    'api-1': (one as (typeof apis)[number]).piece,
    'api-2': (two as (typeof apis)[number]).piece,
  }
  return {
    databaseUrl: postgres.url,
    engineUrl: engine.url,
    masterKey,
    apis,
    pieces,
    engineData: join(engine.directory, 'data'),
    log: (name) => readFileSync(log(name), 'utf8'),
    async stop() {
      await Promise.all([pieces['indexer-1'], pieces['indexer-2'], pieces['api-1'], pieces['api-2']].map((piece) => piece.stop()))
      await Promise.all([pieces.postgres, pieces.redis, pieces.engine].map((piece) => piece.stop()))
    },
  }

  function required(redis: Sidecar | null): Sidecar {
    if (!redis) throw new Error('Histories need a real Redis: install redis-server or valkey-server.')
    return redis
  }

  async function server(start: () => Promise<Sidecar>): Promise<{ url: string; piece: Piece; directory: string }> {
    let current = await start()
    const again = async () => {
      // Killed, PostgreSQL leaves children that hold its memory for a moment.
      for (let attempt = 1; ; attempt++) {
        try {
          current = await start()
          return
        } catch (error) {
          if (attempt === 20) throw error
          await sleep(250)
        }
      }
    }
    const pid = () => current.pid ?? 0
    const piece: Piece = {
      async kill(forMs, meanwhile) {
        const gone = current.exited
        process.kill(pid(), 'SIGKILL')
        await gone
        meanwhile?.()
        await sleep(forMs)
        await again()
      },
      async restart(forMs) {
        await current.stop()
        await sleep(forMs)
        await again()
      },
      pause: (forMs) => pauseFamily(pid(), forMs),
      stop: () => current.stop(),
    }
    return { url: current.url, piece, directory: readPlace(current) }
  }

  function readPlace({ name }: Sidecar): string {
    const asked = within(name === 'Meilisearch' ? 'engine' : name === 'Redis' ? 'redis' : 'postgres')
    try {
      return readFileSync(join(asked, 'moved-to'), 'utf8').trim()
    } catch {
      return asked
    }
  }
}

/** Runs one of our programs for as long as it is wanted: when it ends by itself it is started again. */
async function program(words: string[], env: Record<string, string>, logFile: string, answers: () => Promise<boolean>): Promise<Piece> {
  let isWanted = true
  let child: ChildProcess
  let ended: Promise<void>
  const output = openSync(logFile, 'w', 0o600)

  function start(): void {
    child = spawnTethered(process.execPath, words, { cwd: root, env, stopSignal: 'SIGTERM', output })
    ended = new Promise((resolve) => child.once('exit', () => resolve()))
    ended.then(async () => {
      await sleep(200)
      if (isWanted) start()
    })
  }
  async function end(signal: NodeJS.Signals, forMs: number): Promise<void> {
    isWanted = false
    const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
    child.kill(signal)
    await ended
    clearTimeout(force)
    await sleep(Math.max(250, forMs)) // longer than the keeper's own wait
  }
  async function again(): Promise<void> {
    isWanted = true
    start()
    await untilAnswers()
  }
  async function untilAnswers(): Promise<void> {
    while (!(await answers())) await sleep(50)
  }
  start()
  await untilAnswers()
  return {
    async kill(forMs, meanwhile) {
      await end('SIGKILL', forMs)
      meanwhile?.()
      await again()
    },
    async restart(forMs) {
      await end('SIGTERM', forMs)
      await again()
    },
    async pause(forMs) {
      const paused = child
      paused.kill('SIGSTOP')
      await sleep(forMs)
      paused.kill('SIGCONT')
      await untilAnswers()
    },
    async stop() {
      if (isWanted) await end('SIGTERM', 0)
      closeSync(output)
    },
  }
}

/** Pauses a process with its children: a PostgreSQL whose postmaster alone stands still goes on answering. */
async function pauseFamily(pid: number, forMs: number): Promise<void> {
  const family = [pid, ...childrenOf(pid)]
  for (const each of family) signal(each, 'SIGSTOP')
  await sleep(forMs)
  for (const each of family) signal(each, 'SIGCONT')
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
      } catch {
        return false
      }
    })
    .map(Number)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {}
}

/** Removes the engine's data; only while it does not run. */
export function wipe(world: World): void {
  rmSync(world.engineData, { recursive: true, force: true })
}
