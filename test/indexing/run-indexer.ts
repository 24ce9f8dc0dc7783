// Runs indexers for tests: as a process, or within the test process, which starts faster.
import type { KyselyPlugin } from 'kysely'
import type { Test } from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { indexerKey } from '../../src/indexing/engine/engine-keys.ts'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import { isIndexUpToDate } from '../../src/indexing/index-lag.ts'
import { runIndexer } from '../../src/indexing/indexer.ts'
import type { IndexerOptions } from '../../src/indexing/indexer-run.ts'
import { IndexerState } from '../../src/monitoring/indexer-state.ts'
import { eventually } from '../support/eventually.ts'
import { type RunningProgram, startProgram } from '../support/run-program.ts'
import { servers } from '../support/test-database.ts'
import type { TestService } from '../support/test-service.ts'

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
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
    ...env,
  })
}

type EngineOptions = {
  meiliUrl?: string
  indexerApiKey?: string
  registrationName?: string
  /** Sees every query of the indexer. */
  plugin?: KyselyPlugin
}

export type RunningIndexer = { output(): string; isRunning(): boolean; stop(): Promise<void> }

/** Starts an indexer within the test process, with the rights of its role. Stops with the test. */
export async function startIndexer(
  t: Test,
  service: Service,
  engine: EngineOptions = {},
): Promise<RunningIndexer> {
  const lines: string[] = []
  const options = await indexerOptions(service, engine, lines)
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
  return { output: () => lines.join('\n'), isRunning: () => isRunning, stop }
}

/** Runs an indexer within the test process until the index is up to date. Returns its log. */
export async function buildIndex(service: Service): Promise<string> {
  const lines: string[] = []
  const options = await indexerOptions(service, {}, lines)
  try {
    const isUpToDate = () => isIndexUpToDate(options.db, options.registrationName)
    await runIndexer(options, new AbortController().signal, isUpToDate)
    return lines.join('\n')
  } finally {
    await options.db.destroy()
  }
}

async function indexerOptions(
  { config, roles }: Service,
  {
    meiliUrl = config.MEILI_URL,
    indexerApiKey,
    registrationName = config.SEARCH_ENGINE,
    plugin,
  }: EngineOptions,
  lines: string[],
): Promise<IndexerOptions> {
  const { meiliMasterKey } = await servers()
  const db = openDatabase(roles.indexer, { connections: 4, connectionTimeoutMs: 60_000 })
  return {
    db: plugin ? db.withPlugin(plugin) : db,
    openClient: (key) => openIndexingClient(meiliUrl, key),
    indexerApiKey: indexerApiKey ?? indexerKey(meiliMasterKey),
    indexName: config.SEARCH_INDEX,
    registrationName,
    popularityIntervalMs: 3_600_000,
    state: new IndexerState(),
    log: (line) => lines.push(line),
  }
}

/** Waits until the indexer has logged this text, and returns all that it has logged. */
export function waitForOutput(
  indexer: { output(): string },
  text: string | RegExp,
): Promise<string> {
  return eventually(
    async () => indexer.output(),
    (output) => (typeof text === 'string' ? output.includes(text) : text.test(output)),
  )
}
