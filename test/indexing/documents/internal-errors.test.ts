// Documents and synonyms at which the engine fails with an internal error. Documents are parked if
// they are at fault. If the engine is at fault, none is, and the indexer tries again.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { type IndexTarget, registerIndex } from '../../../src/indexing/registration.ts'
import { applySynonyms } from '../../../src/indexing/synonyms.ts'
import { applyNextBatch, leaseTarget } from '../../support/database/leased-target.ts'
import { type TestDatabase, testDatabase } from '../../support/database/test-database.ts'
import { FakeEngine } from '../engine/fake-engine.ts'

const isFatalProduct = (document: string) => document.includes('Bomba fatal')

type Fixture = { db: TestDatabase['db']; engine: FakeEngine; target: IndexTarget }

/** An empty index in an engine that fails at some products, and the right to write to it. */
async function createFixture(t: Test): Promise<Fixture> {
  const { db } = await testDatabase(t)
  const engine = new FakeEngine()
  engine.behaviour.isFatal = isFatalProduct
  await registerIndex(db, 'main')
  const address = { db, client: engine.client, indexName: 'products', registrationName: 'main' }
  return { db, engine, target: await leaseTarget(address) }
}

/** Adds products in this order. The first one has the id 1. */
const addProducts = ({ db }: Fixture, names: string[]) =>
  sql`
    insert into products (sku, name)
    select 'A-' || place, name from unnest(${names}::text[]) with ordinality as n (name, place)
  `.execute(db)

async function readParkedIds({ db }: Fixture): Promise<string[]> {
  const rows = await db
    .selectFrom('index_parked_documents')
    .select('product_id')
    .orderBy('product_id')
    .execute()
  return rows.map(({ product_id }) => product_id)
}

/** Names of products, and the ids of those that are parked. All others are in the index. */
const cases: [title: string, names: string[], parkedIds: string[], changed?: object][] = [
  ['a single product', ['Bomba fatal'], ['1']],
  [
    'the first product that is not at fault',
    [...Array.from({ length: 5 }, () => 'Bomba fatal'), 'Bomba'],
    ['1', '2', '3', '4', '5'],
  ],
  [
    'two uploads that the engine runs together',
    // Each upload has 10,000 products at most.
    Array.from({ length: 10_300 }, (_, n) => (n === 7 || n === 10_200 ? 'Bomba fatal' : 'Bomba')),
    ['8', '10201'],
    { pauseMs: 25 },
  ],
  ['an engine that fails only for a moment', ['Bomba'], [], { isFatal: failOnce() }],
]

function failOnce() {
  let failures = 0
  return () => ++failures === 1
}

for (const [title, names, parkedIds, changed] of cases)
  t.test(`only products at which the engine fails are parked: ${title}`, async (t) => {
    const fixture = await createFixture(t)
    Object.assign(fixture.engine.behaviour, changed)
    await addProducts(fixture, names)
    const lines: string[] = []
    await applyNextBatch(fixture.target, { log: (line) => lines.push(line) })
    t.same(await readParkedIds(fixture), parkedIds)
    t.equal(fixture.engine.documents.size, names.length - parkedIds.length)
    const parked = `Parked ${parkedIds.length} document`
    t.equal(lines.filter((line) => line.startsWith(parked)).length, Number(parkedIds.length > 0))
  })

t.test('a document that cannot be deleted blocks no other change', async (t) => {
  const fixture = await createFixture(t)
  const { db, engine, target } = fixture
  await addProducts(fixture, ['Bomba', 'Tuerca', 'Broca'])
  await applyNextBatch(target)
  await db.deleteFrom('products').where('id', 'in', ['1', '2']).execute()
  await sql`update products set name = 'Broca nueva' where id = 3`.execute(db)
  engine.behaviour.isFatal = (text) => text === '1'
  await applyNextBatch(target)
  t.same(await readParkedIds(fixture), ['1'])
  t.same([...engine.documents.keys()], ['1', '3'])
  t.match(engine.documents.get('3'), 'Broca nueva')
  t.same(await db.selectFrom('index_outbox').selectAll().execute(), [])
})

t.test('no product is parked while the engine fails at every document', async (t) => {
  const fixture = await createFixture(t)
  const { engine, target } = fixture
  const names = Array.from({ length: 30 }, (_, n) => (n === 1 ? 'Bomba fatal' : 'Bomba'))
  await addProducts(fixture, names)
  engine.behaviour.isFatal = () => true
  await t.rejects(applyNextBatch(target), /the thread that indexes has panicked/)
  t.same(await readParkedIds(fixture), [])
  engine.behaviour.isFatal = isFatalProduct
  await applyNextBatch(target)
  t.same(await readParkedIds(fixture), ['2'], 'tried again when the engine works')
  t.equal(engine.documents.size, 29)
})

t.test('a deletion that the engine runs together with a rejected upload is repeated', async (t) => {
  const fixture = await createFixture(t)
  const { db, engine, target } = fixture
  await addProducts(fixture, ['Bomba', 'Bomba'])
  await applyNextBatch(target)
  await sql`delete from products where id = 1`.execute(db)
  await db.insertInto('products').values({ sku: 'B-1', name: 'Bomba fatal' }).execute()
  engine.behaviour.pauseMs = 25
  await applyNextBatch(target)
  t.same(await readParkedIds(fixture), ['3'])
  t.same([...engine.documents.keys()], ['2'])
})

t.test(
  'synonyms at which the engine fails are logged, and do not stop anything else',
  async (t) => {
    const fixture = await createFixture(t)
    const { db, target } = fixture
    await db
      .insertInto('search_synonyms')
      .values({ word: 'zorgon', synonyms: ['Bomba fatal'] })
      .execute()
    fixture.engine.behaviour.isFatal = (text) => text.includes('zorgon')
    const lines: string[] = []
    await applySynonyms(target, (line) => lines.push(line))
    t.match(lines, [/^The search engine rejects the synonyms: .* has panicked\.$/])
  },
)
