// Keeps a search index in step with the catalogue; builds it, compares it, and says how far it is.
import { readIndexerConfig } from '../src/config.ts'
import { openDatabase } from '../src/database/postgres-pool.ts'
import { registerEngine } from '../src/indexing/change-sync.ts'
import { withRepairKey } from '../src/indexing/engine-keys.ts'
import { readStatus } from '../src/indexing/index-status.ts'
import { queueRepair, verify } from '../src/indexing/index-verification.ts'
import { type IndexerOptions, isInStep, runIndexer } from '../src/indexing/indexer.ts'
import { openEngine } from '../src/indexing/meilisearch-client.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/indexer.ts [follow | build | rebuild | verify [--repair] | status]

  follow   carries every change of the catalogue into the index until it is stopped. Builds the index first when there is none, and anew when
           its settings, the making of its documents or its contents are not what they should be. Several may run for one engine: one works,
           the others stand by and take over when it ends or dies. The default.
  build    the same, but ends when the index is in step.
  rebuild  has the index built afresh beside the live one and swapped in, by the indexer at work or, when there is none, by itself, and ends
           when that is done. Search goes on meanwhile.
  verify   compares the index with the catalogue, document by document, and lists what is missing, stale or extra. Exits 1 when something is.
           --repair mends it, and then exits 0.
  status   shows for every engine how far it is behind, who works on it, and which documents it refused.

Reads INDEXER_DATABASE_URL or DATABASE_URL, MEILI_URL, MEILI_INDEXER_KEY, SEARCH_INDEX, SEARCH_ENGINE, POPULARITY_MINUTES. Ctrl+C stops it between two batches.
`

/** What one statement or request may take, so that a server that is gone without a word is noticed. */
const timeoutMs = 300_000
/** So many ids of a kind are listed. */
const shownIds = 20

await runCommand(
  help,
  { repair: { type: 'boolean' } },
  async ({ repair }, [mode = 'follow', ...more]) => {
    if (more.length > 0) throw new UsageError(`What is ${more[0]} meant to be?`)
    const run = { follow, build, rebuild, verify: compare, status }[mode]
    if (!run)
      throw new UsageError(
        `There is no mode ${mode}: use follow, build, rebuild, verify or status.`,
      )
    if (repair && mode !== 'verify') throw new UsageError('--repair belongs to verify.')
    const config = readIndexerConfig()
    const db = openDatabase(config.DATABASE_URL, { connections: 4, silenceMs: timeoutMs })
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const options: IndexerOptions = {
      db,
      openEngine: (key) => openEngine(config.MEILI_URL, key, { timeoutMs }),
      engineKey: config.MEILI_INDEXER_KEY,
      indexName: config.SEARCH_INDEX,
      engineName: config.SEARCH_ENGINE,
      popularityEveryMs: config.POPULARITY_MINUTES * 60_000,
      say: (line) => console.log(line),
    }
    try {
      return await run(options, stop.signal, repair ?? false)
    } finally {
      await db.destroy()
    }
  },
)

async function follow(options: IndexerOptions, signal: AbortSignal): Promise<number> {
  await runIndexer(options, signal)
  return 0
}

async function build(options: IndexerOptions, signal: AbortSignal): Promise<number> {
  await runIndexer(options, signal, () => isInStep(options.db, options.engineName))
  return signal.aborted ? 130 : 0
}

async function rebuild(options: IndexerOptions, signal: AbortSignal): Promise<number> {
  const { db, engineName, say } = options
  await registerEngine(db, engineName, () =>
    say('Waiting for transactions that began before this engine was known.'),
  )
  await db
    .updateTable('search_engines')
    .set({ rebuild_asked_at: new Date() })
    .where('name', '=', engineName)
    .execute()
  say('The rebuild is asked for.')
  const status = await build(options, signal)
  if (status === 0) say('The rebuild is done.')
  return status
}

async function compare(
  options: IndexerOptions,
  signal: AbortSignal,
  repair: boolean,
): Promise<number> {
  const { db, indexName, engineName, say } = options
  const target = { indexName, engineName }
  const engine = options.openEngine(options.engineKey)
  let told = 0
  const onProgress = (documents: number) => {
    if (documents - told < 50_000) return
    told = documents
    say(`Compared ${documents} products`)
  }
  const { products, ...drift } = await verify({ db, engine, ...target, onProgress })
  const differing = drift.missing.length + drift.stale.length + drift.extra.length
  for (const [kind, ids] of Object.entries(drift)) {
    if (ids.length > 0)
      say(
        `${kind}: ${ids.length}: ${ids.slice(0, shownIds).join(', ')}${ids.length > shownIds ? ', …' : ''}`,
      )
  }
  say(
    differing === 0
      ? `All ${products} products are in the index as they are now.`
      : `${differing} of ${products} products differ.`,
  )
  if (differing === 0) return 0
  if (!repair) return 1
  await withRepairKey(engine, indexName, (key) =>
    queueRepair(db, options.openEngine(key), target, drift),
  )
  await build(options, signal)
  const after = await verify({ db, engine, ...target })
  const left = after.missing.length + after.stale.length + after.extra.length
  say(
    left === 0
      ? 'Mended.'
      : `${left} still differ: \`status\` shows those that the engine refuses.`,
  )
  return left === 0 ? 0 : 1
}

async function status({ db, say }: IndexerOptions): Promise<number> {
  const engines = await readStatus(db)
  if (engines.length === 0) say('No engine is registered: the indexer has not run yet.')
  for (const {
    engine,
    holder,
    indexedAt,
    lagSeconds,
    pending,
    parked,
    parkedCount,
    rebuildAskedAt,
  } of engines) {
    say(
      `${engine}: ${indexedAt ? `holds every change up to ${indexedAt.toISOString()}` : 'has no index yet'}`,
    )
    say(`  behind   ${lagSeconds === null ? '-' : `${lagSeconds} s`}, ${pending} changes pending`)
    say(`  indexer  ${holder ?? 'none at work'}`)
    if (rebuildAskedAt) say(`  rebuild  asked for at ${rebuildAskedAt.toISOString()}`)
    say(`  refused  ${parkedCount}`)
    for (const { productId, sku, reason, parkedAt } of parked)
      say(`    ${productId} (${sku ?? 'gone'}) at ${parkedAt.toISOString()}: ${reason}`)
  }
  return 0
}
