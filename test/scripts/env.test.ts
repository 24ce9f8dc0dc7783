// .env.example documents every setting, and `make env` writes a .env that docker compose and
// Meilisearch accept.
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { env } from '../../scripts/env.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { Settings } from '../../src/config/settings-schema.ts'
import { readIndexerConfig, readMigrateConfig, readServerConfig } from '../../src/config.ts'
import { defaultConnections, searchConnections } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { runInProcess } from '../support/run-in-process.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const composeOnly = [
  'POSTGRES_PASSWORD',
  'REDIS_PASSWORD',
  'API_PASSWORD',
  'INDEXER_PASSWORD',
  'IMPORTER_PASSWORD',
]

t.test('settings, chart and runbook state how many connections an API process opens', async (t) => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const example = read('.env.example')
  t.match(example, `each API process, plus ${searchConnections} for searches without an engine`)
  t.match(
    read('deploy/helm/trade-quoting-service/values.yaml'),
    `DATABASE_CONNECTIONS + ${searchConnections} connections to PostgreSQL.`,
  )
  const runbook = read('docs/operations/runbook.md')
  t.match(runbook, `\`DATABASE_CONNECTIONS\` (${defaultConnections}), ${searchConnections} for`)
  t.match(runbook, `N × ${defaultConnections + searchConnections} under load`)
})

t.test(
  '.env.example shows exactly the settings, with their descriptions and defaults',
  async (t) => {
    const text = readFileSync(join(root, '.env.example'), 'utf8')
    // An entry is a block of comment lines that begins with the description, and the setting, which
    // is commented out unless it is required.
    const entries = [...text.matchAll(/(?<=\n\n)# (.+)\n(?:# .+\n)*(#?)([A-Z_]+)=(.*)\n/g)]
    const documented = entries.map(([, description, hash, name, value]) => ({
      name,
      description,
      value,
      required: hash === '',
    }))
    const expected = Object.entries(Settings.properties).map(([name, schema]) => ({
      name,
      description: schema.description,
      value: String(schema.default ?? ''),
      required: (Settings.required as string[]).includes(name) && schema.default === undefined,
    }))
    t.same(
      documented.filter(({ name = '' }) => !composeOnly.includes(name)),
      expected,
    )
    t.same(
      documented.filter(({ required }) => !required).length +
        expected.filter(({ required }) => required).length,
      text.match(/^#?[A-Z_]+=/gm)?.length,
      'each line with a setting has a description',
    )
    t.same(documented.map(({ name }) => name).slice(-composeOnly.length), composeOnly)
  },
)

t.test(
  'make env writes .env for its owner only and a valid company file, and never changes them',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'env')
    const first = await runEnv(directory)
    t.equal(first.status, 0, first.stderr)
    t.match(
      first.stdout,
      new RegExp(
        'Wrote \\.env.*Wrote company\\.json.*base currency \\(EUR\\) and ' +
          'time zone \\(Europe/Madrid\\).*docker compose up',
        's',
      ),
    )
    t.same(readdirSync(directory).sort(), ['.env', 'company.json'], 'leaves no temporary file')
    t.equal(statSync(join(directory, '.env')).mode & 0o777, 0o600)
    t.equal(
      statSync(join(directory, 'company.json')).mode & 0o777,
      0o644,
      'the container may read it with any umask',
    )
    t.match(readCompany(join(directory, 'company.json')), {
      baseCurrency: 'EUR',
      timeZone: 'Europe/Madrid',
      seller: { country: 'ES', language: 'es' },
    })

    const before = contents(directory)
    const second = await runEnv(directory)
    t.equal(second.status, 0, second.stderr)
    t.match(second.stdout, /\.env exists.*company\.json exists/s)
    t.same(contents(directory), before)

    const otherDirectory = createTemporaryDirectory(t, 'env')
    await runEnv(otherDirectory)
    const secrets = [directory, otherDirectory].flatMap((directory) => {
      const written = readEnv(directory)
      return [...composeOnly, 'MEILI_MASTER_KEY', 'MEILI_INDEXER_KEY', 'MEILI_SEARCH_KEY'].map(
        (name) => written[name],
      )
    })
    t.equal(new Set(secrets).size, 16, 'all secrets differ')
    t.ok(
      secrets.every((secret) => /^[A-Za-z0-9_-]{43,64}$/.test(secret ?? '')),
      'have at least 32 bytes, and need no encoding in a URL',
    )
  },
)

t.test('make env MODE=without-containers writes settings that every program accepts', async (t) => {
  const directory = createTemporaryDirectory(t, 'env')
  const run = () => runEnv(directory, '--without-containers')
  const first = await run()
  t.equal(first.status, 0, first.stderr)
  t.match(first.stdout, /create-database\.sql.*without-containers\.md/s)
  t.same(readdirSync(directory).sort(), ['.env', 'company.json', 'create-database.sql'])
  for (const file of ['.env', 'create-database.sql'])
    t.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file)
  const written = readEnv(directory)
  const { password } = new URL(written.DATABASE_URL ?? '')
  t.ok(readFileSync(join(directory, 'create-database.sql'), 'utf8').includes(`'${password}'`))
  for (const read of [readServerConfig, readIndexerConfig, readMigrateConfig])
    t.doesNotThrow(() => read(written))
  const before = contents(directory)
  const second = await run()
  t.equal(second.status, 0, second.stderr)
  t.match(second.stdout, /\.env exists and is complete/)
  t.same(contents(directory), before)
  const text = readFileSync(join(directory, '.env'), 'utf8')
  writeFileSync(join(directory, '.env'), text.replace(/^MEILI_URL=.*$/m, ''))
  t.match(await run(), { status: 1, stderr: /the services needs? MEILI_URL/ })
})

t.test('make env adds what an older .env lacks, and keeps what it has', async (t) => {
  const directory = createTemporaryDirectory(t, 'env')
  await runEnv(directory)
  const file = join(directory, '.env')
  const complete = readFileSync(file, 'utf8')
  const older = `${complete
    .replace(/^(IMPORTER_PASSWORD|MEILI_INDEXER_KEY|KEEP_ALIVE_SECONDS)=.*\n/gm, '')
    .replace(/^API_PASSWORD=.*$/m, 'API_PASSWORD=')
    .replace(/^PORT=.*$/m, 'PORT=8080 # ours')}# The end, without a line break.`
  writeFileSync(file, older)
  chmodSync(file, 0o640)
  const { status, stdout, stderr } = await runEnv(directory)
  t.equal(status, 0, stderr)
  t.match(
    stdout,
    /lacked: API_PASSWORD, IMPORTER_PASSWORD, MEILI_INDEXER_KEY, KEEP_ALIVE_SECONDS\. /,
  )
  const text = readFileSync(file, 'utf8')
  t.ok(
    text.startsWith(older.replace(/^API_PASSWORD=$/m, /^API_PASSWORD=.*$/m.exec(text)?.[0] ?? '')),
  )
  t.equal(statSync(file).mode & 0o777, 0o640)
  const [before, after] = [parseEnv(complete), parseEnv(text)]
  t.equal(after.MEILI_INDEXER_KEY, before.MEILI_INDEXER_KEY, 'derived from the master key')
  for (const name of ['API_PASSWORD', 'IMPORTER_PASSWORD'])
    t.match(after[name], /^[A-Za-z0-9_-]{43}$/, name)
  t.equal(after.POSTGRES_PASSWORD, before.POSTGRES_PASSWORD)
  const again = await runEnv(directory)
  t.match(again.stdout, '.env exists and is complete')
  t.equal(readFileSync(file, 'utf8'), text)
})

t.test(
  'make env lists what it cannot add to an existing .env, and does not change it',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'env')
    const file = join(directory, '.env')
    writeFileSync(
      file,
      'DATABASE_URL=postgres://here/database\n' +
        'MEILI_MASTER_KEY=an-old-master-key\n' +
        'MEILI_SEARCH_KEY=of-another-key\n',
    )
    const before = contents(directory)
    const { status, stderr } = await runEnv(directory)
    t.equal(status, 1)
    t.match(
      stderr,
      /was not changed.*needs POSTGRES_PASSWORD\..*a backup.*needs MEILI_SEARCH_KEY=[0-9a-f]{64}/s,
    )
    t.same(contents(directory), before)
  },
)

t.test('make env reports the problems of an existing company file', async (t) => {
  const directory = createTemporaryDirectory(t, 'env')
  const file = join(directory, 'company.json')
  copyFileSync(join(root, 'company.example.json'), file)
  writeFileSync(file, readFileSync(file, 'utf8').replace('Europe/Madrid', 'Europe/Atlantis'))
  const { status, stderr } = await runEnv(directory)
  t.equal(status, 1)
  t.match(stderr, /company\.json is not valid.*Europe\/Atlantis is not an IANA time zone/s)
})

t.test(
  'the search key of .env is the one that Meilisearch derives, and it can only search',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'env')
    await runEnv(directory)
    const { MEILI_MASTER_KEY: masterKey = '', MEILI_SEARCH_KEY: key = '' } = readEnv(directory)
    const server = await startMeilisearch({ directory: join(directory, 'meilisearch'), masterKey })
    t.teardown(server.stop)
    const master = openIndexingClient(server.url, masterKey)
    await Promise.all([
      ensurePermanentKeys(master),
      ensurePermanentKeys(master),
      ensurePermanentKeys(master),
    ])
    await ensurePermanentKeys(master)
    const { results } = await master.getKeys()
    t.same(
      results.filter((engineKey) => engineKey.key === key).map(({ actions }) => actions),
      [['search']],
      'one key, for searching only',
    )
    await master.createIndex('things').waitTask()

    const searcher = openIndexingClient(server.url, key)
    t.same((await searcher.index('things').search('')).hits, [])
    await t.rejects(searcher.createIndex('others'), { cause: { code: 'invalid_api_key' } })
    await t.rejects(searcher.index('things').addDocuments([{ id: 1 }]), {
      cause: { code: 'invalid_api_key' },
    })
    await t.rejects(searcher.getKeys(), { cause: { code: 'invalid_api_key' } })
  },
)

/** Runs scripts/env.ts in `directory` with a strict umask. */
async function runEnv(directory: string, ...options: string[]) {
  const umask = process.umask(0o077)
  return runInProcess(env, options, { directory }).finally(() => process.umask(umask))
}

const readEnv = (directory: string) => parseEnv(readFileSync(join(directory, '.env'), 'utf8'))

function contents(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  )
}
