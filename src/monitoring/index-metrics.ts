// The metrics of the index, by engine. The API and the indexer export them.
import { nameWithoutShape } from '../search-engine/shape-suffix.ts'
import { type Family, type Sample, shareConcurrentCalls } from './metric-families.ts'

/** How far the index of one search engine is behind the database. */
export type IndexProgress = {
  registrationName: string
  indexedAt: Date | null
  lagSeconds: number | null
  pending: number
  parked: number
  /** Whether the URL of the engine leads to several servers. If so, the index is not used. */
  hasSeveralServers: boolean
}

type IndexSources = {
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  /** Returns the names, without their shape, of the engines that should have an index. */
  listEngines: () => string[]
}

export function indexFamilies({ readIndexProgress, listEngines }: IndexSources): Family[] {
  const readProgress = shareConcurrentCalls(readIndexProgress)
  const readByEngine = async (value: (progress: IndexProgress) => number | null) =>
    ((await readProgress()) ?? []).flatMap((progress): Sample[] => {
      const known = value(progress)
      return known === null
        ? []
        : [{ labels: { engine: nameWithoutShape(progress.registrationName) }, value: known }]
    })
  const readBuilt = async (): Promise<Sample[]> => {
    const progress = await readProgress()
    // PostgreSQL does not answer, so this is unknown.
    if (progress === null) return []
    const built = progress
      .filter(({ indexedAt }) => indexedAt !== null)
      .map(({ registrationName }) => nameWithoutShape(registrationName))
    return listEngines().map((engine) => ({
      labels: { engine },
      value: Number(built.includes(engine)),
    }))
  }
  return [
    {
      type: 'gauge',
      name: 'tqs_index_built',
      help: '1 if the index of this release was built in the engine',
      read: readBuilt,
    },
    {
      type: 'gauge',
      name: 'tqs_index_lag_seconds',
      help: 'Age of the oldest change that is not in the index, by engine',
      read: () => readByEngine(({ lagSeconds }) => lagSeconds),
    },
    {
      type: 'gauge',
      name: 'tqs_index_pending_changes',
      help: 'Changes of products that are not in the index yet, by engine',
      read: () => readByEngine(({ pending }) => pending),
    },
    {
      type: 'gauge',
      name: 'tqs_index_several_servers',
      help: '1 while the URL of the engine leads to several servers: the index is not used',
      read: () => readByEngine(({ hasSeveralServers }) => Number(hasSeveralServers)),
    },
    {
      type: 'gauge',
      name: 'tqs_index_parked_documents',
      help: 'Documents that the engine rejected, parked until their product changes',
      read: () => readByEngine(({ parked }) => parked),
    },
  ]
}
