// The metrics of the index, by engine. The API and the indexer export them.
import type { Registry } from 'prom-client'
import { nameWithoutVersion } from '../search-engine/index-name.ts'
import { addScrapedMetric, type Sample, shareConcurrentCalls } from './scraped-metric.ts'

/** How far the index of one search engine is behind the database. */
export type IndexProgress = {
  registrationName: string
  indexedAt: Date | null
  lagSeconds: number | null
  pendingCount: number
  parkedCount: number
}

type IndexSources = {
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  /** Returns the names, without their version, of the engines that should have an index. */
  listEngines: () => string[]
}

export function addIndexMetrics(
  registry: Registry,
  { readIndexProgress, listEngines }: IndexSources,
): void {
  const readProgress = shareConcurrentCalls(readIndexProgress)
  const readByEngine = async (value: (progress: IndexProgress) => number | null) =>
    ((await readProgress()) ?? []).flatMap((progress): Sample[] => {
      const known = value(progress)
      return known === null
        ? []
        : [{ labels: { engine: nameWithoutVersion(progress.registrationName) }, value: known }]
    })
  const readBuilt = async (): Promise<Sample[]> => {
    const progress = await readProgress()
    // PostgreSQL does not answer, so this is unknown.
    if (progress === null) return []
    const built = progress
      .filter(({ indexedAt }) => indexedAt !== null)
      .map(({ registrationName }) => nameWithoutVersion(registrationName))
    return listEngines().map((engine) => ({
      labels: { engine },
      value: Number(built.includes(engine)),
    }))
  }
  const addGauge = (name: string, help: string, read: () => Promise<Sample[]>) =>
    addScrapedMetric(registry, { type: 'gauge', name, help, labelNames: ['engine'], read })
  addGauge('tqs_index_built', '1 if the index of this release was built in the engine', readBuilt)
  addGauge(
    'tqs_index_lag_seconds',
    'Age of the oldest change that is not in the index, by engine',
    () => readByEngine(({ lagSeconds }) => lagSeconds),
  )
  addGauge(
    'tqs_index_pending_changes',
    'Changes of products that are not in the index yet, by engine',
    () => readByEngine(({ pendingCount }) => pendingCount),
  )
  addGauge(
    'tqs_index_parked_documents',
    'Documents that the engine rejected, parked until their product changes',
    () => readByEngine(({ parkedCount }) => parkedCount),
  )
}
