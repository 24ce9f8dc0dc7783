// The commands of the runbook for a second search engine: it is built while the first one answers,
// and then gets searches.
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startMeilisearch } from '../../../scripts/servers/meilisearch.ts'
import { deriveIndexerKey } from '../../../src/indexing/keys.ts'
import { writeCompanyFile } from '../../support/database/company.ts'
import { servers } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { startProgram } from '../../support/run-program.ts'
import { parseCommands, readRunbookBlocks } from '../../support/runbook-commands.ts'
import { startApi, testService } from '../../support/service/test-service.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'

const commands = readRunbookBlocks('A second search engine', 'sh')[1] ?? ''
const [removal = ''] = readRunbookBlocks('A second search engine', 'sql')
const [migrate, follow, status, setting] = parseCommands(commands)

const limitMs = 60_000

t.test('a second engine is added as the runbook says', async (t) => {
  const directory = createTemporaryDirectory(t, 'second')
  writeCompanyFile(directory)
  const { meiliMasterKey: masterKey } = await servers()
  const service = await testService(t)
  const second = await startMeilisearch({ directory: join(directory, 'second'), masterKey })
  t.teardown(() => second.stop())
  const products = Array.from({ length: 50 }, (_, n) => ({ sku: `A-${n}`, name: `Alicate ${n}` }))
  await service.db.insertInto('products').values(products).execute()
  await service.sync()

  const valuesOf = (step: typeof migrate) =>
    Object.fromEntries(
      Object.entries(step?.settings ?? {}).map(([name, value]) => [
        name,
        value.replace('http://second:7700', second.url),
      ]),
    )
  const run = (step: typeof migrate, env: Record<string, string> = {}) => {
    const [program, name, ...words] = step?.words ?? []
    t.equal(program, 'scripts/run')
    return startProgram(t, [`scripts/${name}.ts`, ...words], {
      DATABASE_URL: service.url,
      INDEXER_DATABASE_URL: service.roles.indexer,
      COMPANY_FILE: join(directory, 'company.json'),
      MEILI_URL: service.config.MEILI_URL,
      MEILI_MASTER_KEY: masterKey,
      MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
      SEARCH_INDEX: service.config.SEARCH_INDEX,
      ...env,
      ...valuesOf(step),
    })
  }
  const migration = run(migrate)
  t.equal(await migration.exit, 0, migration.output())
  const indexer = run(follow)
  const shown = await eventually(
    async () => {
      const program = run(status)
      await program.exit
      return program.output()
    },
    (output) => /^second-v\d+: holds every change up to 20/m.test(output),
    limitMs,
  )
  t.match(shown, /^second-v\d+: holds every change up to 20/m, indexer.output())
  const verification = run(follow && { ...follow, words: [...follow.words, 'verify'] })
  t.equal(await verification.exit, 0, verification.output())
  t.match(verification.output(), '50 products')

  const api = await startApi(t, service, valuesOf(setting))
  const answersOf = async (engine: string) => {
    await fetch(`${api.url}/api/search?q=alicate`)
    await fetch(`${api.url}/api/search?q=${encodeURIComponent(`alicate ${Date.now() % 50}`)}`)
    const metrics = await (await fetch(`${api.opsUrl}/metrics`)).text()
    const line = `tqs_search_engine_requests_total{engine="${engine}",outcome="answered"} `
    return Number(
      metrics
        .split('\n')
        .find((text) => text.startsWith(line))
        ?.slice(line.length),
    )
  }
  for (const engine of ['main', 'second'])
    t.ok(
      await eventually(
        () => answersOf(engine),
        (answers) => answers > 0,
        limitMs,
      ),
      engine,
    )

  indexer.child.kill('SIGTERM')
  t.equal(await indexer.exit, 0)
  for (const statement of removal.split(';\n').map((text) => text.replace(/^ *--.*\n/, '')))
    if (!/^\s*(begin|commit)?\s*$/.test(statement))
      await sql.raw(statement.replace(/--.*$/, '')).execute(service.db)
  const { rows } = await sql<{ name: string }>`
    select registration_name as name from search_indexes
    union select registration_name from index_outbox
  `.execute(service.db)
  t.notMatch(JSON.stringify(rows), 'second', 'nothing is left of a removed engine')
})
