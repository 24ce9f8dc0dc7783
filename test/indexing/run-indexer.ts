// Runs indexers for tests: as a process, or within the test process, which starts faster.
import type { KyselyPlugin } from 'kysely'
import type { Test } from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { type IndexerOptions, runIndexer } from '../../src/indexing/indexer.ts'
import { deriveIndexerKey } from '../../src/indexing/keys.ts'
import { isIndexUpToDate } from '../../src/indexing/status.ts'
import { IndexerState } from '../../src/monitoring/indexer-state.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { type RunningProgram, startProgram } from '../support/run-program.ts'
import type { TestService } from '../support/service/test-service.ts'

type Service = Pick<TestService, 'config' | 'roles'>

/** Runs scripts/indexer.ts with these arguments. */
export async function startIndexerProcess(
  t: Test,
  { config, roles }: Service,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<RunningProgram> {
  const { meiliMasterKey } = await servers()
  const { MEILI_URL, SEARCH_INDEX, SEARCH_ENGINE } = config
  return startProgram(t, ['scripts/indexer.ts', ...args], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL,
    SEARCH_INDEX,
    SEARCH_ENGINE,
    MEILI_INDEXER_KEY: deriveIndexerKey(meiliMasterKey),
    ...env,
  })
}

type IndexerSettings = {
  databaseUrl: string
  meiliUrl: string
  indexerApiKey: string
  indexName: string
  registrationName: string
  /** Sees every query of the indexer. */
  plugin?: KyselyPlugin
}

export type RunningIndexer = {
  state: IndexerState
  output(): string
  isRunning(): boolean
  stop(): Promise<void>
}

/** Starts an indexer within the test process, with the rights of its role. Stops with the test. */
export async function startIndexer(
  t: Test,
  service: Service,
  changed: Partial<IndexerSettings> = {},
): Promise<RunningIndexer> {
  const lines: string[] = []
  const options = indexerOptions({ ...(await settingsOf(service)), ...changed }, lines)
  const controller = new AbortController()
  let isRunning = true
  const finished = runIndexer(options, controller.signal).finally(() => {
    isRunning = false
  })
  const stop = async () => {
    controller.abort()
    await finished
  }
  t.teardown(async () => {
    await stop()
    await options.db.destroy()
  })
  const { state } = options
  return { state, output: () => lines.join('\n'), isRunning: () => isRunning, stop }
}

/** Runs an indexer within the test process until the index is up to date. Returns its log. */
export async function buildIndex(service: Service): Promise<string> {
  return buildIndexOf(await settingsOf(service))
}

/** A build takes a second or two. */
const longestBuildMs = 60_000

/** Does the same for an index that belongs to no test service. */
export async function buildIndexOf(settings: IndexerSettings): Promise<string> {
  const lines: string[] = []
  const options = indexerOptions(settings, lines)
  const isUpToDate = () => isIndexUpToDate(options.db, options.registrationName)
  try {
    await runIndexer(options, AbortSignal.timeout(longestBuildMs), isUpToDate)
    const log = lines.join('\n')
    if (await isUpToDate()) return log
    throw new Error(`The index was not up to date after ${longestBuildMs} ms: ${log}`)
  } finally {
    await options.db.destroy()
  }
}

async function settingsOf({ config, roles }: Service): Promise<IndexerSettings> {
  const { meiliMasterKey } = await servers()
  return {
    databaseUrl: roles.indexer,
    meiliUrl: config.MEILI_URL,
    indexerApiKey: deriveIndexerKey(meiliMasterKey),
    indexName: config.SEARCH_INDEX,
    registrationName: config.SEARCH_ENGINE,
  }
}

function indexerOptions(
  { databaseUrl, meiliUrl, indexerApiKey, indexName, registrationName, plugin }: IndexerSettings,
  lines: string[],
): IndexerOptions {
  const db = openDatabase(databaseUrl, { connections: 4, connectionTimeoutMs: 60_000 })
  return {
    db: plugin ? db.withPlugin(plugin) : db,
    client: openIndexingClient(meiliUrl, indexerApiKey),
    indexName,
    registrationName,
    popularityIntervalMs: 3_600_000,
    state: new IndexerState(),
    log: (line) => lines.push(line),
  }
}

const longestWaitMs = 60_000

/** Waits until the indexer has logged this text, and returns all that it has logged. */
export async function waitForOutput(
  indexer: { output(): string },
  text: string | RegExp,
): Promise<string> {
  const hasText = (output: string) =>
    typeof text === 'string' ? output.includes(text) : text.test(output)
  const output = await eventually(async () => indexer.output(), hasText, longestWaitMs)
  if (!hasText(output)) throw new Error(`The indexer has not logged ${text}:\n${output}`)
  return output
}
