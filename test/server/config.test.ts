// Settings: validation, secrets in files, renamed settings.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import {
  getPublicBaseUrl,
  getSearchEngines,
  isPublicHostUnknown,
  readServerConfig,
} from '../../src/config.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const directory = createTemporaryDirectory(t, 'config')
/** Returns the path of a new file. */
function createFile(name: string, text: string): string {
  writeFileSync(join(directory, name), text)
  return join(directory, name)
}
const requiredSettings = {
  DATABASE_URL: 'postgres://u:p@host/db',
  MEILI_URL: 'http://host:7700',
  MEILI_SEARCH_KEY: 'a-key-that-only-searches',
}

/** Returns the message of the error, or an empty string if the settings are valid. */
function configurationError(env: Record<string, string>): string {
  try {
    readServerConfig(env)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

t.test('callers without a key cannot have the scope that shows names of customers', async (t) => {
  t.match(
    configurationError({ ...requiredSettings, ANONYMOUS_SCOPES: 'stats:read, stats:detail' }),
    /ANONYMOUS_SCOPES may not contain stats:detail: names of customers are personal data.+--scopes/,
  )
})

t.test('names every missing or invalid setting in one error, with its description', async (t) => {
  const message = configurationError({
    DATABASE_URL: 'mysql://x',
    PORT: '99999',
    OPS_PORT: 'x',
    ANONYMOUS_SCOPES: 'search:read,search:write',
    LOG_LEVEL: 'loud',
    COUNT_VIEWS: 'perhaps',
    PUBLIC_BASE_URL: 'https://quotes.example/?page=1',
    START_TIMEOUT_SECONDS: '-1',
    SEARCH_LIMIT_PER_SECOND: '0',
    TRUST_PROXY: '127.0.0.1, nonsense',
  })
  const lines = message.split('\n').slice(1, -1)
  const invalidSettings = lines.map((line) => line.trim().split(' ')[0])
  t.same(
    invalidSettings.toSorted(),
    [
      'ANONYMOUS_SCOPES',
      'COUNT_VIEWS',
      'DATABASE_URL',
      'LOG_LEVEL',
      'MEILI_SEARCH_KEY',
      'MEILI_URL',
      'OPS_PORT',
      'PORT',
      'PUBLIC_BASE_URL',
      'SEARCH_LIMIT_PER_SECOND',
      'START_TIMEOUT_SECONDS',
      'TRUST_PROXY',
    ],
    message,
  )
  for (const line of lines) t.match(line, /^ {2}[A-Z_]+ is (missing|not valid): \S+/)
  t.match(message, 'TRUST_PROXY is not valid: entry 2 must be an address')
  t.match(message, /See \.env\.example\.$/)
  t.notMatch(message, /mysql/, 'the message contains no values, which may be secrets')
})

t.test('TRUST_PROXY accepts what Fastify accepts, but no netmask, and nothing else', async (t) => {
  const accepts = (entry: string) => {
    try {
      readServerConfig({ ...requiredSettings, TRUST_PROXY: entry })
      return true
    } catch {
      return false
    }
  }
  const fastifyAccepts = (entry: string) => {
    try {
      Fastify({ trustProxy: [entry] })
      return true
    } catch {
      return false
    }
  }
  const entries = [
    ...['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', 'uniquelocal'],
    ...['loopback', 'linklocal', '::ffff:10.0.0.1', '0.0.0.0/1', '10.0.0.0/32', '::1/128'],
    ...['nonsense', '10.0.0.0/33', '10.0.0.0/0', '::1/129', '10.0.0.0/x', 'proxy.lan'],
    ...['10.0.0.0/8/8', '10.0.0.0/', '10.0.0.0/255.0.255.0', '::1/255.0.0.0'],
  ]
  for (const entry of entries) t.equal(accepts(entry), fastifyAccepts(entry), entry)
  t.notOk(accepts('10.0.0.0/255.0.0.0'))
})

t.test('returns the name and URL of each search engine', async (t) => {
  t.same(getSearchEngines(readServerConfig(requiredSettings)), [
    { name: 'main', url: 'http://host:7700' },
  ])
  const config = readServerConfig({
    ...requiredSettings,
    SEARCH_ENGINE: 'first',
    MORE_SEARCH_ENGINES: 'second=http://b:7700/?a=b, third=https://c',
  })
  t.same(getSearchEngines(config), [
    { name: 'first', url: 'http://host:7700' },
    { name: 'second', url: 'http://b:7700/?a=b' },
    { name: 'third', url: 'https://c' },
  ])
})

t.test('an address that stands for all addresses is no host of the public URL', async (t) => {
  for (const [env, url, isUnknown] of [
    [{}, 'http://127.0.0.1:3000', false],
    [{ HOST: '192.168.1.10' }, 'http://192.168.1.10:3000', false],
    [{ HOST: 'fd00::1' }, 'http://[fd00::1]:3000', false],
    [{ HOST: '0.0.0.0' }, 'http://127.0.0.1:3000', true],
    [{ HOST: '::' }, 'http://127.0.0.1:3000', true],
    [{ PUBLIC_BASE_URL: 'http://0.0.0.0:3001/' }, 'http://127.0.0.1:3001', true],
    [
      { HOST: '0.0.0.0', PUBLIC_BASE_URL: 'https://q.example/erp/' },
      'https://q.example/erp',
      false,
    ],
  ] as const) {
    const config = readServerConfig({ ...requiredSettings, ...env })
    t.equal(getPublicBaseUrl(config), url, JSON.stringify(env))
    t.equal(isPublicHostUnknown(config), isUnknown, JSON.stringify(env))
  }
})

t.test('treats an empty setting as missing', async (t) => {
  const { PORT, REDIS_URL, ANONYMOUS_SCOPES, SERVE_DOCS } = readServerConfig({
    ...requiredSettings,
    PORT: '',
    REDIS_URL: '',
    ANONYMOUS_SCOPES: '',
    SERVE_DOCS: '',
  })
  t.same([PORT, REDIS_URL, ANONYMOUS_SCOPES, SERVE_DOCS], [3000, undefined, [], true])
})

t.test(
  'reads secrets from files, and reports unreadable files and secrets that are set twice',
  async (t) => {
    const DATABASE_URL_FILE = createFile('database-url', 'postgres://u:from-file@host/db\n')
    t.equal(
      readServerConfig({ ...requiredSettings, DATABASE_URL: '', DATABASE_URL_FILE }).DATABASE_URL,
      'postgres://u:from-file@host/db',
    )
    t.match(
      configurationError({ ...requiredSettings, DATABASE_URL_FILE }),
      /DATABASE_URL and DATABASE_URL_FILE are both set/,
    )
    const message = configurationError({
      ...requiredSettings,
      DATABASE_URL: '',
      DATABASE_URL_FILE: join(directory, 'nowhere'),
      PORT: 'x',
    })
    t.match(message, /DATABASE_URL_FILE cannot be read: ENOENT.*PORT is not valid/s)
    t.match(
      configurationError({
        ...requiredSettings,
        MEILI_SEARCH_KEY: '',
        MEILI_SEARCH_KEY_FILE: createFile('empty', '\n'),
      }),
      /MEILI_SEARCH_KEY is missing/,
    )
    t.equal(
      readServerConfig({ ...requiredSettings, PORT_FILE: createFile('port', '1') }).PORT,
      3000,
      'other settings are read from the environment only',
    )
  },
)

t.test('scripts/migrate.ts explains how to create a missing company file', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/migrate.ts')], {
    cwd: directory,
    env: { DATABASE_URL: 'postgres://u:p@127.0.0.1:9/db' },
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(
    stderr,
    new RegExp(
      '^COMPANY_FILE: there is no company\\.json\\. ' +
        'Copy company\\.example\\.json there \\(`make env` does it\\)',
    ),
  )
})
