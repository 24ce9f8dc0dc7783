// Settings: every problem at once, secrets also from files, and what to do when something is missing.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readServerConfig } from '../../src/config.ts'

const root = join(import.meta.dirname, '../..')
const directory = mkdtempSync(join(tmpdir(), 'tqs-config-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))
const file = (name: string, text: string) => {
  writeFileSync(join(directory, name), text)
  return join(directory, name)
}
const complete = {
  DATABASE_URL: 'postgres://u:p@host/db',
  MEILI_URL: 'http://host:7700',
  MEILI_SEARCH_KEY: 'a-key-that-only-searches',
}

/** Reads the settings of the API with exactly this environment. */
function settings(env: Record<string, string>): ReturnType<typeof readServerConfig> {
  const before = process.env
  process.env = env
  try {
    return readServerConfig()
  } finally {
    process.env = before
  }
}
const refusal = (env: Record<string, string>): string => {
  try {
    settings(env)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

t.test(
  'every setting that is missing or wrong is named in one error, with what it should be',
  async (t) => {
    const message = refusal({
      DATABASE_URL: 'mysql://x',
      PORT: '99999',
      OPS_PORT: 'x',
      ANONYMOUS_SCOPES: 'search:read,search:write',
      LOG_LEVEL: 'loud',
      COUNT_VIEWS: 'perhaps',
      PUBLIC_BASE_URL: 'https://quotes.example/?page=1',
      START_TIMEOUT_SECONDS: '-1',
      SEARCH_LIMIT_PER_SECOND: '0',
    })
    const lines = message.split('\n').slice(1, -1)
    const named = lines.map((line) => line.trim().split(' ')[0])
    t.same(
      named.toSorted(),
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
      ],
      message,
    )
    for (const line of lines) t.match(line, /^ {2}[A-Z_]+ is (missing|not valid): \S+/)
    t.match(message, /See \.env\.example\.$/)
    t.notMatch(message, /mysql/, 'and no value is repeated: it may be a secret')
  },
)

t.test('an empty setting is one that is not given', async (t) => {
  const { PORT, REDIS_URL, ANONYMOUS_SCOPES, SERVE_DOCS } = settings({
    ...complete,
    PORT: '',
    REDIS_URL: '',
    ANONYMOUS_SCOPES: '',
    SERVE_DOCS: '',
  })
  t.same([PORT, REDIS_URL, ANONYMOUS_SCOPES, SERVE_DOCS], [3000, undefined, [], true])
})

t.test(
  'secrets come from files too; a file that cannot be read and a secret given twice are problems like others',
  async (t) => {
    const DATABASE_URL_FILE = file('database-url', 'postgres://u:from-file@host/db\n')
    t.equal(
      settings({ ...complete, DATABASE_URL: '', DATABASE_URL_FILE }).DATABASE_URL,
      'postgres://u:from-file@host/db',
    )
    t.match(
      refusal({ ...complete, DATABASE_URL_FILE }),
      /DATABASE_URL and DATABASE_URL_FILE are both set/,
    )
    const message = refusal({
      ...complete,
      DATABASE_URL: '',
      DATABASE_URL_FILE: join(directory, 'nowhere'),
      PORT: 'x',
    })
    t.match(message, /DATABASE_URL_FILE cannot be read: ENOENT.*PORT is not valid/s)
    t.match(
      refusal({ ...complete, MEILI_SEARCH_KEY: '', MEILI_SEARCH_KEY_FILE: file('empty', '\n') }),
      /MEILI_SEARCH_KEY is missing/,
    )
    t.equal(
      settings({ ...complete, PORT_FILE: file('port', '1') }).PORT,
      3000,
      'what is no secret comes from the environment alone',
    )
  },
)

t.test('migrating without a company file says what to do', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/migrate.ts')], {
    cwd: directory,
    env: { DATABASE_URL: 'postgres://u:p@127.0.0.1:9/db' },
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(
    stderr,
    /^COMPANY_FILE: there is no company\.json\. Copy company\.example\.json there \(`make env` does it\)/,
  )
})
