// The whole service as real processes: three servers, two APIs, two indexers.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { recordCompany } from '../../src/company/company.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { grantRoles } from '../../src/database/roles.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { ensureEngineKeys, indexerKey, searchKey } from '../../src/indexing/engine-keys.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { company } from '../support/company.ts'
import { asRole, logins } from '../support/database-roles.ts'
import { type Clock, fastClock } from './clock.ts'
import { type Piece, program, server } from './piece.ts'

export type PieceName =
  | 'postgres'
  | 'redis'
  | 'engine'
  | 'indexer-1'
  | 'indexer-2'
  | 'api-1'
  | 'api-2'

export type World = {
  databaseUrl: string
  engineUrl: string
  masterKey: string
  apis: { name: PieceName; url: string }[]
  pieces: Record<PieceName, Piece>
  /** Which of our programs ended by themselves, in words; emptied by whoever reads it. */
  deaths: string[]
  clock: Clock
  engineData: string
  /** What the programs wrote, by name. */
  log(name: PieceName): string
  stop(): Promise<void>
}

const masterKey = 'a-master-key-for-histories'
export const indexName = 'products'

/** Starts everything in `directory`, with a migrated database, and answers when both APIs do. */
export async function startWorld(directory: string): Promise<World> {
  const startedAt = Date.now()
  const deaths: string[] = []
  const log = (name: PieceName) => join(directory, `${name}.log`)
  const within = (name: string) => {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o755 })
    return join(directory, name)
  }
  // A committed transaction must survive the killing of the server, but no power cut is played.
  const settings = {
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '100',
    max_wal_size: '256MB',
  }
  const [databasePort, redisPort, enginePort] = [await ownPort(), await ownPort(), await ownPort()]
  const [postgres, redis, engine] = await Promise.all([
    server(() => startPostgres({ directory: within('postgres'), port: databasePort, settings })),
    server(() => startRedis({ directory: within('redis'), port: redisPort }).then(required)),
    server(async () => {
      const started = await startMeilisearch({
        directory: within('engine'),
        port: enginePort,
        masterKey,
      })
      // As the operator does by scripts/migrate.ts: an engine that lost its data has lost its keys.
      await ensureEngineKeys(openEngine(started.url, masterKey))
      return started
    }),
  ])

  const db = openDatabase(postgres.sidecar.url, { connections: 2 })
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

  const shared = { MEILI_URL: engine.sidecar.url, SEARCH_INDEX: indexName }
  const onDeath = (name: PieceName) => (status: string) =>
    void deaths.push(`${name} ended by itself (${status})`)
  const indexer = (name: PieceName) => {
    const env = {
      ...shared,
      INDEXER_DATABASE_URL: asRole(postgres.sidecar.url, 'indexer'),
      MEILI_INDEXER_KEY: indexerKey(masterKey),
      POPULARITY_MINUTES: '1',
    }
    return program(['scripts/indexer.ts'], {
      env,
      logFile: log(name),
      answers: async () => true,
      onDeath: onDeath(name),
    })
  }
  const api = async (name: PieceName) => {
    const [port, opsPort] = [await ownPort(), await ownPort()]
    const env = {
      ...shared,
      API_DATABASE_URL: asRole(postgres.sidecar.url, 'api'),
      REDIS_URL: redis.sidecar.url,
      MEILI_SEARCH_KEY: searchKey(masterKey),
      COMPANY_FILE: join(directory, 'company.json'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
      ANONYMOUS_SCOPES: 'search:read,stats:read',
      ...Object.fromEntries(limits.map((limit) => [limit, '1000000'])),
      // Lateness is the machine's, with so many processes on it.
      SHED_DELAY_MS: '0',
      LOG_LEVEL: 'warn',
      HISTORY_CLOCK: String(startedAt),
    }
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/api/search?limit=1`, {
        signal: AbortSignal.timeout(1_000),
      }).then(
        ({ ok }) => ok,
        () => false,
      )
    const piece = await program(['test/history/api.ts'], {
      env,
      logFile: log(name),
      answers,
      onDeath: onDeath(name),
    })
    return { name, url: `http://127.0.0.1:${port}`, piece }
  }
  const [one, two, indexerOne, indexerTwo] = await Promise.all([
    api('api-1'),
    api('api-2'),
    indexer('indexer-1'),
    indexer('indexer-2'),
  ])
  const programs = {
    'indexer-1': indexerOne,
    'indexer-2': indexerTwo,
    'api-1': one.piece,
    'api-2': two.piece,
  }
  const pieces = { postgres: postgres.piece, redis: redis.piece, engine: engine.piece, ...programs }
  return {
    databaseUrl: postgres.sidecar.url,
    engineUrl: engine.sidecar.url,
    masterKey,
    apis: [one, two],
    pieces,
    deaths,
    clock: fastClock(startedAt),
    engineData: join(placeOf(within('engine')), 'data'),
    log: (name) => readFileSync(log(name), 'utf8'),
    async stop() {
      await Promise.all(Object.values(programs).map((piece) => piece.stop()))
      await Promise.all([postgres, redis, engine].map(({ piece }) => piece.stop()))
    },
  }
}

/** What one caller may ask is not what histories are about. */
const limits = [
  'SEARCH_LIMIT_PER_SECOND',
  'STATS_LIMIT_PER_MINUTE',
  'LINK_LIMIT_PER_MINUTE',
  'LINK_GUESS_LIMIT_PER_MINUTE',
]

/** A port that is free, and stays so while its server is down: below those that the system gives to whoever connects somewhere. */
async function ownPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000)
    const isFree = await choosePort('Histories', port).then(
      () => true,
      () => false,
    )
    if (isFree) return port
  }
}

function required(redis: RunningServer | null): RunningServer {
  if (!redis) throw new Error('Histories need a real Redis: install redis-server or valkey-server.')
  return redis
}

/** Where a server really keeps its data: elsewhere when the directory cannot be used. */
function placeOf(directory: string): string {
  try {
    return readFileSync(join(directory, 'moved-to'), 'utf8').trim()
  } catch {
    return directory
  }
}

/** Removes the engine's data; only while it does not run. */
export function wipe(world: World): void {
  rmSync(world.engineData, { recursive: true, force: true })
}
