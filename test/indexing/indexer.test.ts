// scripts/indexer.ts: builds the index, then follows every change of the catalogue, whoever makes it.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { openPool } from '../../src/database/postgres-pool.ts'
import { indexerKey } from '../../src/indexing/engine-keys.ts'
import {
  eventually,
  type RunningProgram,
  servers,
  startProgram,
  type TestService,
  testService,
} from '../support/test-service.ts'

const indexer = 'scripts/indexer.ts'

async function startIndexer(
  t: Test,
  { config, roles }: TestService,
  words: string[] = [],
): Promise<RunningProgram> {
  const { meiliMasterKey } = await servers()
  const { MEILI_URL, SEARCH_INDEX } = config
  return startProgram(t, [indexer, ...words], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL,
    SEARCH_INDEX,
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
  })
}

/** What the index finds. A slow moment, in which PostgreSQL answers instead, is waited out. */
async function names({ app }: TestService, q: string): Promise<string[]> {
  const { hits, meta } = await eventually(
    async () =>
      (await app.inject(`/api/search?q=${encodeURIComponent(q)}`)).json<{
        hits: { name: string }[]
        meta: { source: string }
      }>(),
    ({ meta }) => meta.source === 'index',
  )
  if (meta.source !== 'index') throw new Error(`answered by ${meta.source}`)
  return hits.map((hit) => hit.name)
}

const becomes = async (t: Test, service: TestService, q: string, wanted: string[]) =>
  t.same(
    await eventually(
      () => names(service, q),
      (found) => JSON.stringify(found) === JSON.stringify(wanted),
    ),
    wanted,
    q,
  )

t.test(
  'follows inserts, updates, deletes and truncation by plain SQL, and never a rolled-back change',
  async (t) => {
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
    const program = await startIndexer(t, service)
    await becomes(t, service, 'zanahoria', ['Zanahoria'])

    const run = (statement: string) => service.pool.query(statement)
    await run("update products set name = 'Berenjena' where sku = 'A-1'")
    await becomes(t, service, 'berenjena', ['Berenjena'])
    await becomes(t, service, 'zanahoria', [])
    await run("insert into products (sku, name) values ('A-2', 'Calabaza'), ('A-3', 'Pepino')")
    await becomes(t, service, 'calabaza', ['Calabaza'])

    const client = await service.pool.connect()
    await client.query('begin')
    await client.query("update products set name = 'Fantasma' where sku = 'A-2'")
    await client.query('rollback')
    client.release()
    await run("update products set active = false where sku = 'A-3'")
    await becomes(t, service, 'pepino', [])
    t.same(await names(service, 'fantasma'), [])
    t.same(await names(service, 'calabaza'), ['Calabaza'])

    await run("update products set active = true where sku = 'A-3'")
    await becomes(t, service, 'pepino', ['Pepino'])
    await run("delete from products where sku = 'A-2'")
    await becomes(t, service, 'calabaza', [])
    await run('truncate products cascade')
    await becomes(t, service, 'berenjena', [])

    const { count } = await eventually(
      () =>
        service.db
          .selectFrom('product_changes')
          .select(sql<number>`count(*)::int`.as('count'))
          .executeTakeFirstOrThrow(),
      ({ count }) => count === 0,
    )
    t.equal(count, 0, 'nothing stays pending')
    program.child.kill('SIGTERM')
    t.equal(await program.exit, 0, 'stops cleanly when told to')
  },
)

t.test('after a quiet hour a change is late from when it was made', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
  const program = await startIndexer(t, service)
  // The first time may be the first popularity's.
  for (let time = 1; time <= 3; time++) {
    await service.pool.query("update search_engines set indexed_at = now() - interval '1 hour'")
    const noted = await eventually(
      async () =>
        (
          await service.pool.query(
            "select from search_engines where indexed_at > now() - interval '1 minute'",
          )
        ).rowCount,
      (count) => count === 1,
    )
    t.equal(noted, 1)
  }
  program.child.kill('SIGTERM')
  await program.exit
  await service.pool.query("update products set name = 'Berenjena'")
  const status = await startIndexer(t, service, ['status'])
  t.equal(await status.exit, 0)
  t.match(status.output(), /behind {3}\d?\d(\.\d)? s, 1 changes pending/)
})

t.test(
  'a transaction that began before a thousand others and commits after them is not lost',
  async (t) => {
    const service = await testService(t)
    await startIndexer(t, service)
    const late = openPool(service.url, { connections: 1 })
    const client = await late.connect()
    await client.query('begin')
    await client.query("insert into products (sku, name) values ('L-1', 'Rezagado')")
    for (let n = 0; n < 1_000; n += 100) {
      const values = Array.from({ length: 100 }, (_, index) => ({
        sku: `S-${n + index}`,
        name: `Seguidor ${n + index}`,
      }))
      await service.db.insertInto('products').values(values).execute()
    }
    await becomes(t, service, '"seguidor 999"', ['Seguidor 999'])
    await client.query('commit')
    client.release()
    await late.end()
    await becomes(t, service, 'rezagado', ['Rezagado'])
  },
)

t.test('an unchanged row queues nothing', async (t) => {
  const { db, pool, target } = await testService(t)
  await db.insertInto('products').values({ sku: 'A-1', name: 'Uno' }).execute()
  const { syncBatch } = await import('../../src/indexing/change-sync.ts')
  await syncBatch(target)
  await pool.query('update products set name = name')
  t.same(await db.selectFrom('product_changes').selectAll().execute(), [])
})

t.test(
  'builds the index anew when there is none or its settings are out of date, and search goes on meanwhile',
  async (t) => {
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
    await service.sync()
    await service.engine
      .index(service.config.SEARCH_INDEX)
      .updateSettings({ typoTolerance: { enabled: false } })
      .waitTask()
    t.same(await names(service, 'zanahorja'), [])
    const build = await startIndexer(t, service, ['build'])
    t.equal(await build.exit, 0, build.output())
    t.match(build.output(), /contains 1 products/)
    t.same(await names(service, 'zanahorja'), ['Zanahoria'])
    const again = await startIndexer(t, service, ['build'])
    t.equal(await again.exit, 0)
    t.notMatch(again.output(), /contains/, 'an index that is as it should be is left alone')
  },
)

t.test('says everything that is wrong with its configuration at once', async (t) => {
  const program = startProgram(t, [indexer], {
    DATABASE_URL: 'nonsense',
    MEILI_URL: 'http://127.0.0.1:9',
  })
  t.equal(await program.exit, 1)
  t.match(program.output(), /DATABASE_URL is not valid/)
  t.match(program.output(), /MEILI_INDEXER_KEY is missing/)
})

t.test(
  'an indexer that the engine does not know says what makes its key, and goes on trying',
  async (t) => {
    const { config, roles } = await testService(t)
    const { MEILI_URL, SEARCH_INDEX } = config
    const env = {
      INDEXER_DATABASE_URL: roles.indexer,
      MEILI_URL,
      SEARCH_INDEX,
      MEILI_INDEXER_KEY: 'a key that nobody made',
    }
    const program = startProgram(t, [indexer], env)
    await eventually(
      async () => program.output(),
      (said) => said.includes('Trying again'),
    )
    t.match(program.output(), /does not know this key\. scripts\/migrate\.ts creates the keys/)
    t.equal(program.child.exitCode, null)
  },
)

t.test(
  'an engine that is away is named with the reason, in one line and without what was asked or a key',
  async (t) => {
    const { db, config, roles } = await testService(t)
    await sql`insert into products (sku, name) select 'S-' || n, 'Pieza' from generate_series(1, 1000) n`.execute(
      db,
    )
    const port = await choosePort('test')
    const env = {
      INDEXER_DATABASE_URL: roles.indexer,
      MEILI_URL: `http://127.0.0.1:${port}`,
      SEARCH_INDEX: config.SEARCH_INDEX,
      MEILI_INDEXER_KEY: 'a key that nobody made',
    }
    const reason = `has failed: connect ECONNREFUSED 127.0.0.1:${port}`
    const verify = startProgram(t, [indexer, 'verify'], env)
    t.equal(await verify.exit, 1)
    t.equal(
      verify.output(),
      `Request to ${env.MEILI_URL}/indexes/${config.SEARCH_INDEX}/documents ${reason}\n`,
    )
    const following = startProgram(t, [indexer], env)
    // Each time it tries it takes its place anew.
    const tried = () => db.selectFrom('indexer_leases').select('fence').executeTakeFirst()
    t.ok(Number((await eventually(tried, (lease) => Number(lease?.fence ?? 0) >= 4))?.fence) >= 4)
    t.equal(
      following.output().match(/Trying again/g)?.length,
      1,
      'said once, however often it tries',
    )
    t.match(
      following.output(),
      new RegExp(`^Request to ${env.MEILI_URL}/keys\\S* ${reason}\\. Trying again\\.$`, 'm'),
    )
    t.notMatch(following.output(), env.MEILI_INDEXER_KEY)
  },
)
