// The index after PostgreSQL has failed over: it is built anew if it may hold changes that were
// lost, and later changes reach it.
import t, { type Test } from 'tap'
import type { Engine } from '../../scripts/servers/service.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { runIndexer } from '../../src/indexing/indexer.ts'
import { deriveIndexerKey } from '../../src/indexing/keys.ts'
import { isIndexUpToDate } from '../../src/indexing/status.ts'
import { IndexerState } from '../../src/monitoring/indexer-state.ts'
import { eventually } from '../support/eventually.ts'
import { type PostgresPair, startPostgresPair } from '../support/servers/postgres-pair.ts'
import { indexName, masterKey } from '../support/service/installation.ts'
import { startEngines } from './service-cluster.ts'

t.jobs = 2

const productCount = 200
const limitMs = 60_000
/** More transactions than what the index needs, so that ids repeat after the failover. */
const lostTransactions = 400

type RunningIndexer = { log(): string; isUpToDate(): Promise<boolean> }

/** Runs an indexer on both hosts. It ends with the test. */
async function startIndexer(t: Test, url: string, engine: Engine): Promise<RunningIndexer> {
  const db = openDatabase(url, { connections: 4 })
  const lines: string[] = []
  const stop = new AbortController()
  const options = {
    db,
    client: openIndexingClient(engine.url, deriveIndexerKey(masterKey)),
    indexName,
    registrationName: engine.name,
    popularityIntervalMs: 3_600_000,
    state: new IndexerState(),
    log: (line: string) => void lines.push(line),
  }
  const running = runIndexer(options, stop.signal)
  t.teardown(async () => {
    stop.abort()
    await running
    await db.destroy()
  })
  const isUpToDate = () => isIndexUpToDate(db, engine.name).catch(() => false)
  t.ok(await eventually(isUpToDate, Boolean, limitMs), `the index is built: ${lines.join('\n')}`)
  return { log: () => lines.join('\n'), isUpToDate }
}

async function rename(db: Database, sku: string, name: string): Promise<void> {
  await db.updateTable('products').set({ name }).where('sku', '=', sku).execute()
}

/** The products whose document does not exist or differs, and the documents without a product. */
async function readDrift(db: Database, { url }: Engine): Promise<string[]> {
  const { results } = await openIndexingClient(url, masterKey)
    .index(indexName)
    .getDocuments<{ sku: string; name: string }>({ fields: ['sku', 'name'], limit: 1_000 })
  const products = await db.selectFrom('products').select(['sku', 'name']).execute()
  const describe = ({ sku, name }: { sku: string; name: string }) => `${sku} ${name}`
  const [indexed, expected] = [new Set(results.map(describe)), new Set(products.map(describe))]
  return [...indexed.symmetricDifference(expected)]
}

async function startAll(t: Test) {
  const [postgres, engines] = await Promise.all([startPostgresPair(t), startEngines(t)])
  const db = openDatabase(postgres.database.url, { connections: 2 })
  t.teardown(() => db.destroy())
  const products = Array.from({ length: productCount }, (_, n) => ({
    sku: `SKU-${n}`,
    name: `Martillo ${n}`,
  }))
  await db.insertInto('products').values(products).execute()
  const indexers = await Promise.all(
    engines.map((engine) => startIndexer(t, postgres.database.url, engine)),
  )
  const untilUpToDate = async () => {
    const read = () => Promise.all(indexers.map((indexer) => indexer.isUpToDate()))
    return eventually(read, (all) => all.every(Boolean), limitMs)
  }
  // On a busy machine the first build may have started over.
  const builds = indexers.map(readBuilds)
  return { postgres, engines, db, indexers, builds, untilUpToDate }
}

async function failOver({ crashPrimary, promoteReplica }: PostgresPair): Promise<void> {
  await crashPrimary()
  await promoteReplica()
}

const readBuilds = ({ log }: RunningIndexer) => log().match(/Building the index/g)?.length ?? 0

t.test('a failover that loses commits', { timeout: 200_000 }, async (t) => {
  const { postgres, engines, db, indexers, untilUpToDate } = await startAll(t)
  await postgres.waitForReplica()
  await postgres.cutReplication()
  await rename(db, 'SKU-1', 'Perdido')
  await db.insertInto('products').values({ sku: 'LOST', name: 'Perdido' }).execute()
  await db.deleteFrom('products').where('sku', '=', 'SKU-2').execute()
  for (let n = 0; n < lostTransactions; n++) await rename(db, 'SKU-3', `Perdido ${n}`)
  await untilUpToDate()
  await failOver(postgres)
  t.same(await untilUpToDate(), [true, true], indexers.map(({ log }) => log()).join('\n'))
  for (const engine of engines) t.same(await readDrift(db, engine), [], 'what was lost is gone')

  // Their transactions and rows of the outbox have numbers that were used before the failover.
  for (let n = 0; n < productCount / 2; n++) await rename(db, `SKU-${n}`, `Cincel ${n}`)
  t.same(await untilUpToDate(), [true, true])
  for (const engine of engines) t.same(await readDrift(db, engine), [], 'no change is missed')
  for (const { log } of indexers) t.match(log(), 'the index may contain changes that were lost')
})

t.test('a failover that loses nothing', { timeout: 200_000 }, async (t) => {
  const { postgres, engines, db, indexers, builds, untilUpToDate } = await startAll(t)
  await postgres.stopPrimary()
  await postgres.promoteReplica()
  t.same(await untilUpToDate(), [true, true], indexers.map(({ log }) => log()).join('\n'))
  await rename(db, 'SKU-1', 'Cincel')
  t.same(await untilUpToDate(), [true, true])
  for (const engine of engines) t.same(await readDrift(db, engine), [])
  t.same(indexers.map(readBuilds), builds, indexers.map(({ log }) => log()).join('\n'))
})

t.test('a return to the server that was replaced', { timeout: 200_000 }, async (t) => {
  const { postgres, engines, db, indexers, untilUpToDate } = await startAll(t)
  await postgres.waitForReplica()
  await failOver(postgres)
  t.same(await untilUpToDate(), [true, true], indexers.map(({ log }) => log()).join('\n'))
  await rename(db, 'SKU-1', 'Solo en el segundo')
  const untilAsInCatalogue = () =>
    eventually(
      () => Promise.all(engines.map((engine) => readDrift(db, engine))),
      (drifts) => drifts.every(({ length }) => length === 0),
      limitMs,
    )
  t.same(await untilAsInCatalogue(), [[], []])
  await postgres.returnToReplaced()
  t.same(await untilAsInCatalogue(), [[], []], indexers.map(({ log }) => log()).join('\n'))
})
