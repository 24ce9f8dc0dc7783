// Runs the indexer, requests a rebuild, verifies an index, or shows the status of all indexes.
import { sql } from 'kysely'
import { type IndexerConfig, readIndexerConfig } from '../src/config.ts'
import { openDatabase } from '../src/database/postgres-pool.ts'
import { indexingRequestTimeout, openIndexingClient } from '../src/indexing/engine.ts'
import { type IndexerOptions, runIndexer, waitingForTransactions } from '../src/indexing/indexer.ts'
import { registerIndex, requestRebuild } from '../src/indexing/registration.ts'
import {
  type IndexStatus,
  isIndexUpToDate,
  readDatabaseTime,
  readIndexLags,
  readIndexStatuses,
} from '../src/indexing/status.ts'
import { listDriftIds, queueRepair, verifyIndex } from '../src/indexing/verify.ts'
import { describeError } from '../src/monitoring/describe-error.ts'
import { buildIndexerOperationsApp } from '../src/monitoring/indexer-operations-app.ts'
import { IndexerState, type RegularJob } from '../src/monitoring/indexer-state.ts'
import { openProgramLog } from '../src/monitoring/log/program-log.ts'
import { repeatRegularly } from '../src/monitoring/regular-task.ts'
import { eraseDocumentsRegularly } from '../src/quotes/links/manage-links.ts'
import { nameWithoutVersion, nameWithVersion } from '../src/search-engine/index-name.ts'
import { countNoun } from '../src/text/count-noun.ts'
import { chooseByName, runCommand, UsageError } from './cli/command.ts'

// New words are known at once. Their numbers may be older.
// The report keeps whole days.
const purgeReportMs = 3_600_000
const wordsMs = 6 * 3_600_000

const help = `
Usage: node scripts/indexer.ts [follow | build | rebuild | verify [--repair] | status]

  follow   Applies every change of the catalogue to the index until it is stopped. This is the
           default. First builds the index if it does not exist, and rebuilds it if its settings,
           or its contents are not as expected. Several indexers may run for
           one engine: one works, and the others take over if it stops or dies. Every hour it
           erases the documents of quote links that were closed long ago, and deletes what the
           report on searches no longer keeps.
  build    The same, but exits when the index contains every change that was committed before the
           start.
  rebuild  Requests a new index and exits when it has replaced the live one. The running indexer
           builds it; if none is running, this program does. Search continues meanwhile.
  verify   Compares every document of the index with its product and lists missing, stale and
           extra documents. Exits with status 1 if there are any.
           --repair repairs them and then exits with status 0.
  status   Shows for every index how far it is behind, which indexer is running, and which
           documents are parked because the engine rejected them.

Reads INDEXER_DATABASE_URL or DATABASE_URL, MEILI_URL, MEILI_INDEXER_KEY, SEARCH_INDEX,
SEARCH_ENGINE, POPULARITY_MINUTES, OPS_HOST, INDEXER_OPS_PORT, LOG_LEVEL. Ctrl+C stops it between
two batches.
`

const maxListedIds = 20
const progressStep = 50_000

await runCommand(
  help,
  { repair: { type: 'boolean' } },
  async ({ repair }, [mode = 'follow', ...extraWords]) => {
    if (extraWords.length > 0) throw new UsageError(`Unexpected argument: ${extraWords[0]}.`)
    const modes = { follow, build, rebuild, verify, status }
    const runMode = chooseByName(modes, mode, 'command')
    if (repair && mode !== 'verify') throw new UsageError('--repair requires the command verify.')
    const config = readIndexerConfig()
    const db = openDatabase(config.DATABASE_URL, {
      connections: 4,
      responseTimeoutMs: indexingRequestTimeout.ms,
    })
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const options: CommandOptions = {
      config,
      db,
      client: openIndexingClient(config.MEILI_URL, config.MEILI_INDEXER_KEY),
      indexName: nameWithVersion(config.SEARCH_INDEX),
      registrationName: nameWithVersion(config.SEARCH_ENGINE),
      popularityIntervalMs: config.POPULARITY_MINUTES * 60_000,
      state: new IndexerState(),
      log: mode === 'follow' ? openProgramLog(config.LOG_LEVEL) : (line) => console.log(line),
    }
    try {
      return await runMode(options, stop.signal, repair ?? false)
    } catch (error) {
      if (error === stop.signal.reason) return 130
      throw error
    } finally {
      await db.destroy()
    }
  },
)

type CommandOptions = IndexerOptions & { config: IndexerConfig }

async function follow(options: CommandOptions, signal: AbortSignal): Promise<number> {
  const { db, log, state } = options
  const operations = await serveOperations(options)
  const ended = new AbortController()
  const purge = { signal: AbortSignal.any([signal, ended.signal]), log }
  const record = (job: RegularJob) => (succeeded: boolean) => void state.jobs.set(job, succeeded)
  const purging = [
    eraseDocumentsRegularly(db, { ...purge, onResult: record('quote_links') }),
    repeatRegularly(() => sql`select purge_search_report()`.execute(db), {
      ...purge,
      intervalMs: purgeReportMs,
      failure: 'Could not purge the search report',
      onResult: record('search_report'),
    }),
    repeatRegularly(() => sql`select refresh_product_words()`.execute(db), {
      ...purge,
      intervalMs: wordsMs,
      failure: 'Could not count the words of products',
      onResult: record('product_words'),
    }),
  ]
  try {
    await runIndexer(options, signal)
  } finally {
    ended.abort()
    await Promise.all([...purging, operations.close()])
  }
  return 0
}

/** Serves health and metrics. If the port is taken, the index is followed nevertheless. */
async function serveOperations({ db, registrationName, config, log, state }: CommandOptions) {
  const app = buildIndexerOperationsApp({
    state,
    engine: nameWithoutVersion(registrationName),
    readIndexProgress: () => readIndexLags(db, [registrationName]),
  })
  try {
    await app.listen({ host: config.OPS_HOST, port: config.INDEXER_OPS_PORT })
  } catch (error) {
    log(
      `Health and metrics are not served (OPS_HOST, INDEXER_OPS_PORT): ${describeError(error)}`,
      'error',
    )
  }
  return app
}

async function build(options: IndexerOptions, signal: AbortSignal): Promise<number> {
  const { db, registrationName } = options
  // Otherwise it would never end while changes arrive all the time.
  const committedBefore = await readDatabaseTime(db)
  await runIndexer(options, signal, () =>
    isIndexUpToDate(db, registrationName, { committedBefore }),
  )
  return signal.aborted ? 130 : 0
}

async function rebuild(options: IndexerOptions, signal: AbortSignal): Promise<number> {
  const { db, registrationName, log } = options
  const onWait = () => log(waitingForTransactions)
  await registerIndex(db, registrationName, { onWait, signal })
  await requestRebuild(db, registrationName)
  log('Requested a rebuild.')
  const exitStatus = await build(options, signal)
  if (exitStatus === 0) log('The rebuild is complete.')
  return exitStatus
}

async function verify(
  options: IndexerOptions,
  signal: AbortSignal,
  mustRepair: boolean,
): Promise<number> {
  const { log } = options
  let reportedCount = 0
  const onProgress = (productCount: number) => {
    if (productCount - reportedCount < progressStep) return
    reportedCount = productCount
    log(`Compared ${countNoun(productCount, 'product')}.`)
  }
  const throwIfStopped = () => signal.throwIfAborted()
  const { products, ...drift } = await verifyIndex(options, { onProgress, throwIfStopped })
  for (const [kind, ids] of Object.entries(drift))
    if (ids.length > 0) log(`${kind}: ${ids.length}: ${listIds(ids)}`)
  const driftCount = listDriftIds(drift).length
  if (driftCount === 0) {
    log(`The index is as the database is now: ${countNoun(products, 'product')}.`)
    return 0
  }
  log(`Of ${countNoun(products, 'product')}, ${driftCount} differ.`)
  if (!mustRepair) return 1

  await queueRepair(options, drift)
  await build(options, signal)
  const remainingCount = listDriftIds(await verifyIndex(options, { throwIfStopped })).length
  log(
    remainingCount === 0
      ? 'Repaired.'
      : `${remainingCount} still differ. The command status lists parked documents.`,
  )
  return remainingCount === 0 ? 0 : 1
}

function listIds(ids: string[]): string {
  return `${ids.slice(0, maxListedIds).join(', ')}${ids.length > maxListedIds ? ', …' : ''}`
}

async function status({ db, log }: IndexerOptions): Promise<number> {
  const statuses = await readIndexStatuses(db)
  if (statuses.length === 0) log('No index is registered: no indexer has run yet.')
  for (const index of statuses) logStatus(index, log)
  return 0
}

function logStatus(index: IndexStatus, log: (line: string) => void): void {
  const { indexedAt, lagSeconds, pendingCount, rebuildRequestedAt } = index
  const lag = lagSeconds === null ? '-' : `${lagSeconds} s`
  const state = indexedAt ? `holds every change up to ${indexedAt.toISOString()}` : 'has no index'
  log(`${index.registrationName}: ${state}`)
  log(`  behind   ${lag}, ${countNoun(pendingCount, 'change')} pending`)
  log(`  indexer  ${index.holder ?? 'none running'}`)
  if (rebuildRequestedAt) log(`  rebuild  requested at ${rebuildRequestedAt.toISOString()}`)
  log(`  parked   ${index.parkedCount}`)
  for (const { productId, sku, reason, parkedAt } of index.oldestParked)
    log(`    ${productId} (${sku ?? 'deleted'}) at ${parkedAt.toISOString()}: ${reason}`)
}
