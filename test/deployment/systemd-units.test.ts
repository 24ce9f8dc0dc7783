// The systemd units give each program the secrets that it needs and no others, and no rights.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { createServicesEnv } from '../../scripts/env/env-without-containers.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'deploy/systemd')

/** The settings with passwords and keys that each unit may see. */
const secretsOfUnits: Record<string, string[]> = {
  'quotes-api@.service': ['API_DATABASE_URL', 'MEILI_SEARCH_KEY', 'REDIS_URL'],
  'quotes-indexer.service': ['INDEXER_DATABASE_URL', 'MEILI_INDEXER_KEY'],
  'quotes-meilisearch.service': ['MEILI_MASTER_KEY'],
  'quotes-migrate.service': [
    'API_DATABASE_URL',
    'DATABASE_URL',
    'IMPORTER_DATABASE_URL',
    'INDEXER_DATABASE_URL',
    'MEILI_MASTER_KEY',
  ],
}

t.test('each unit sees the secrets that it needs and no others', async (t) => {
  const env = Object.keys(parseEnv(createServicesEnv().text))
  const secrets = env.filter((name) => /(DATABASE|REDIS)_URL$|_KEY$/.test(name))
  for (const [unit, expected] of Object.entries(secretsOfUnits)) {
    const text = readFileSync(join(folder, unit), 'utf8')
    const unset = [...text.matchAll(/^UnsetEnvironment=(.*)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    t.same(secrets.filter((name) => !unset.includes(name)).sort(), expected, unit)
    for (const name of unset) t.ok(env.includes(name), `${unit}: ${name} is a setting`)
  }
})

t.test('each unit runs without rights', async (t) => {
  for (const unit of Object.keys(secretsOfUnits)) {
    const text = readFileSync(join(folder, unit), 'utf8')
    for (const line of ['User=quotes', 'NoNewPrivileges=yes', 'ProtectSystem=strict'])
      t.ok(text.includes(`\n${line}\n`), `${unit}: ${line}`)
  }
})
