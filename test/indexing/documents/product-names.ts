// Checks which product names the index contains, by searching or by reading the engine.
import type { Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import type { TestService } from '../../support/service/test-service.ts'

/** Returns the names that the engine finds. Searches again if PostgreSQL or nobody answered. */
export async function findNames({ app }: TestService, query: string): Promise<string[]> {
  const { hits = [], meta } = await eventually(
    async () =>
      (await app.inject(`/api/search?q=${encodeURIComponent(query)}`)).json<{
        hits?: { name: string }[]
        meta?: { source: string }
      }>(),
    ({ meta }) => meta?.source === 'index',
  )
  if (meta?.source !== 'index') throw new Error(`answered by ${meta?.source}`)
  return hits.map((hit) => hit.name)
}

/** Waits until a search finds these products in the index. */
export async function expectFoundNames(
  t: Test,
  service: TestService,
  query: string,
  names: string[],
): Promise<void> {
  const found = await eventually(
    () => findNames(service, query),
    (found) => JSON.stringify(found) === JSON.stringify(names),
  )
  t.same(found, names, query)
}

/** Returns the names in the index, read from the engine itself. */
export async function readIndexedNames({ engine, config }: TestService): Promise<string[]> {
  const { results } = await engine
    .index(config.SEARCH_INDEX)
    .getDocuments<{ name: string }>({ fields: ['name'], limit: 100 })
  return results.map(({ name }) => name).sort()
}

/** Waits until the index contains these products and no others. */
export async function expectIndexedNames(
  t: Test,
  service: TestService,
  names: string[],
): Promise<void> {
  const indexed = await eventually(
    () => readIndexedNames(service),
    (indexed) => JSON.stringify(indexed) === JSON.stringify(names),
  )
  t.same(indexed, names)
}
