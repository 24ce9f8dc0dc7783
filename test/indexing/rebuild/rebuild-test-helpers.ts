// Helpers for tests of rebuilds: a catalogue so large that a rebuild can be observed while it runs.
import { sql } from 'kysely'
import type { Test } from 'tap'
import { unfinishedStatuses } from '../../../src/indexing/engine.ts'
import { eventually } from '../../support/eventually.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'

/** A service with this many products, which are not in the index, and an empty outbox. */
export async function serviceWithProducts(
  t: Test,
  count: number,
  options?: Parameters<typeof testService>[1],
): Promise<TestService> {
  const service = await testService(t, options)
  // Descriptions of different words keep the engine busy for a while.
  await sql`
    insert into products (sku, name, description)
    select 'S-' || n, 'Pieza ' || n, (
      select string_agg(substr(md5((n * 1000 + k)::text), 1, 6), ' ') from generate_series(1, 15) k
    )
    from generate_series(1, ${sql.lit(count)}) n
  `.execute(service.db)
  await sql`delete from index_outbox`.execute(service.db)
  return service
}

/** The number of tasks of this index that the engine has not finished. */
export async function countUnfinishedTasks(
  { engine }: TestService,
  indexName: string,
): Promise<number> {
  const { total } = await engine.tasks.getTasks({
    indexUids: [indexName],
    statuses: unfinishedStatuses,
  })
  return total
}

/** Waits until an upload to this index is queued, and returns the number of such uploads. */
export function waitForUpload(
  { engine }: TestService,
  indexName: string,
  limitMs?: number,
): Promise<number> {
  return eventually(
    async () => {
      const { total } = await engine.tasks.getTasks({
        indexUids: [indexName],
        statuses: unfinishedStatuses,
        types: ['documentAdditionOrUpdate'],
      })
      return total
    },
    (uploads) => uploads > 0,
    limitMs,
  )
}

/** Changes a product and returns the milliseconds until the live index contains the change. */
export async function measureChange(
  { engine, pool, target }: TestService,
  sku: string,
  name: string,
  limitMs = 20_000,
): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    'update products set name = $1 where sku = $2 returning id',
    [name, sku],
  )
  const changedAt = Date.now()
  const index = engine.index(target.indexName)
  const readName = async () => {
    const document = await index.getDocument<{ name: string }>(rows[0]?.id ?? '').catch(() => null)
    return document?.name
  }
  const indexedName = await eventually(readName, (indexed) => indexed === name, limitMs)
  if (indexedName !== name) throw new Error(`The index has ${indexedName} instead of ${name}.`)
  return Date.now() - changedAt
}
