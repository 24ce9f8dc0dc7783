// The commands of the runbook that rotate passwords and keys: afterwards the servers accept the new
// ones and refuse every old one.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { Redis } from 'ioredis'
import pg from 'pg'
import t from 'tap'
import { parse } from 'yaml'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { isAnswering } from '../../scripts/servers/redis.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { startDebianPostgres } from './debian-postgres.ts'

type Secrets = Record<(typeof names)[number], string>

const names = [
  ...(['POSTGRES_PASSWORD', 'API_PASSWORD', 'INDEXER_PASSWORD', 'IMPORTER_PASSWORD'] as const),
  ...(['REDIS_PASSWORD', 'MEILI_MASTER_KEY', 'MEILI_INDEXER_KEY', 'MEILI_SEARCH_KEY'] as const),
] as const

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const chapter = read('docs/operations/runbook.md').split('\n## ').find(isAboutRotation) ?? ''
const blocks = [...chapter.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
const patienceMs = 60_000

function isAboutRotation(text: string): boolean {
  return text.startsWith('Rotate keys\n')
}

const directory = createTemporaryDirectory(t, 'rotation')

/** `psql` in the container runs here, through the socket. `up` starts the servers after a block. */
const commands = `
docker() { [ "$2 $3" != 'exec -T' ] || "$PROGRAMS/$5" -h "$SOCKET" -p "$PORT" "\${@:6}"; }
make() { "$NODE" "$ROOT/scripts/$1.ts"; }`

function runBlock(block: string, env: Record<string, string> = {}): void {
  const { status, stderr } = spawnSync('bash', ['--norc', '-euc', `${commands}\n${block}`], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, NODE: process.execPath, ROOT: root, ...env },
  })
  if (status !== 0) throw new Error(`${block}\n${stderr}`)
}

const readSecrets = () => parseEnv(readFileSync(join(directory, '.env'), 'utf8')) as Secrets

runBlock('make env')
const postgres = await startDebianPostgres(t, { ownerPassword: readSecrets().POSTGRES_PASSWORD })
const postgresUrl = (name: string, password: string) =>
  `postgres://${name}:${password}@127.0.0.1:${postgres.port}/quotes`

const redisPort = await chooseFixedPort()
const redisUrl = `redis://127.0.0.1:${redisPort}`

/** Starts Redis by the command of docker-compose.yml. Returns what stops it. */
async function startRedis(password: string): Promise<() => Promise<void>> {
  const [shell = '', flag = '', script = ''] = parse(read('docker-compose.yml'), { merge: true })
    .services.redis.command as string[]
  const here = script
    .replaceAll('$$', '$')
    .replace('redis-server -', `redis-server - --port ${redisPort} --bind 127.0.0.1`)
  const child = spawnChild(shell, [flag, here], {
    cwd: directory,
    env: { REDISCLI_AUTH: password },
    stopSignal: 'SIGKILL',
    output: 'pipe',
  })
  const exit = new Promise((resolve) => child.once('exit', resolve))
  if (!(await eventually(() => isAnswering(redisUrl), Boolean, patienceMs)))
    throw new Error('Redis did not start')
  return async () => {
    child.kill('SIGKILL')
    await exit
  }
}

const enginePort = await chooseFixedPort()
const engineUrl = `http://127.0.0.1:${enginePort}`

async function startEngine(masterKey: string): Promise<() => Promise<void>> {
  const place = { directory: join(directory, 'meilisearch'), port: enginePort }
  const { stop } = await startMeilisearch({ ...place, masterKey })
  return () => stop()
}

let stopServers = async (): Promise<void> => undefined
t.teardown(() => stopServers())

/** Does what `docker compose up -d` does: servers and `migrate` get the settings of .env. */
async function up(): Promise<void> {
  const secrets = readSecrets()
  await stopServers()
  const stopRedis = await startRedis(secrets.REDIS_PASSWORD)
  stopServers = stopRedis
  const stopEngine = await startEngine(secrets.MEILI_MASTER_KEY)
  stopServers = async () => void (await Promise.all([stopRedis(), stopEngine()]))
  runBlock('make migrate', {
    DATABASE_URL: postgresUrl('quotes', secrets.POSTGRES_PASSWORD),
    API_DATABASE_URL: postgresUrl('quotes_api', secrets.API_PASSWORD),
    INDEXER_DATABASE_URL: postgresUrl('quotes_indexer', secrets.INDEXER_PASSWORD),
    IMPORTER_DATABASE_URL: postgresUrl('quotes_importer', secrets.IMPORTER_PASSWORD),
    MEILI_URL: engineUrl,
    MEILI_MASTER_KEY: secrets.MEILI_MASTER_KEY,
  })
}

/** Whether PostgreSQL lets this role in. Throws on every other failure than a refusal. */
async function canLogIn(name: string, password: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: postgresUrl(name, password) })
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '28P01') return false
    throw error
  } finally {
    await client.end()
  }
}

async function canUseRedis(password: string): Promise<boolean> {
  const client = new Redis(redisUrl, { password, lazyConnect: true, retryStrategy: () => null })
  let refusal = ''
  client.on('error', ({ message }) => {
    refusal = message
  })
  try {
    return (await client.connect().then(() => client.ping())) === 'PONG'
  } catch (error) {
    if (/WRONGPASS|NOAUTH/.test(`${refusal} ${error}`)) return false
    throw error
  } finally {
    client.disconnect()
  }
}

/** Whether the engine allows this request with the key. */
async function canUseEngine(path: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(engineUrl + path, { headers })
  const { code } = (await response.json()) as { code?: string }
  if (response.ok || code === 'index_not_found') return true
  if (code === 'invalid_api_key') return false
  throw new Error(`${path}: ${code}`)
}

const isAccepted: Record<keyof Secrets, (secret: string) => Promise<boolean>> = {
  POSTGRES_PASSWORD: (password) => canLogIn('quotes', password),
  API_PASSWORD: (password) => canLogIn('quotes_api', password),
  INDEXER_PASSWORD: (password) => canLogIn('quotes_indexer', password),
  IMPORTER_PASSWORD: (password) => canLogIn('quotes_importer', password),
  REDIS_PASSWORD: canUseRedis,
  MEILI_MASTER_KEY: (key) => canUseEngine('/keys', key),
  MEILI_INDEXER_KEY: (key) => canUseEngine('/indexes/none/documents', key),
  MEILI_SEARCH_KEY: (key) => canUseEngine('/indexes/none/search?q=x', key),
}

/** Returns the names of those secrets that the servers accept now. */
async function listAccepted(secrets: Secrets): Promise<string[]> {
  const accepted = await Promise.all(names.map((name) => isAccepted[name](secrets[name])))
  return names.filter((_, index) => accepted[index])
}

t.test('after each block of the runbook every old secret that it changes is refused', async (t) => {
  await up()
  const original = readSecrets()
  t.same(await listAccepted(original), names)
  for (const block of blocks) {
    const old = readSecrets()
    const { programs, socket, port } = postgres
    runBlock(block, { PROGRAMS: programs, SOCKET: socket, PORT: String(port) })
    await up()
    const current = readSecrets()
    const unchanged = names.filter((name) => old[name] === current[name])
    t.ok(unchanged.length < names.length, block)
    t.same(await listAccepted(current), names, 'the new ones are accepted')
    t.same(await listAccepted(old), unchanged, 'the old ones are refused')
  }
  t.equal(blocks.length, 3)
  t.same(await listAccepted(original), [], 'together the blocks change all secrets')
})
