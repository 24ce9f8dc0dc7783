// Builds the search index when there is none, then follows the changes of the catalogue.
import { readIndexerConfig } from '../src/config.ts'
import { openDatabase, openEngine } from '../src/connections.ts'
import { ensureSearchKey } from '../src/search/engine-keys.ts'
import { refreshPopularity } from '../src/search/popularity.ts'
import { needsRebuild, rebuild } from '../src/search/rebuild.ts'
import { registerEngine, syncBatch } from '../src/search/sync.ts'
import { messageOf, runCommand, UsageError } from './command.ts'

const help = `
Usage: node scripts/indexer.ts [follow | build | rebuild]

  follow   builds the index if there is none or its settings are out of date, then carries every change of the catalogue into it until it is
           stopped. The default.
  build    the same, but ends when the index is in step.
  rebuild  builds the index afresh beside the live one, swaps them, and ends. Search goes on meanwhile.

Reads DATABASE_URL, MEILI_URL, MEILI_MASTER_KEY, SEARCH_INDEX, SEARCH_ENGINE. Ctrl+C stops it between two batches.
`

const pollEveryMs = 200
const retryEveryMs = 1_000
const popularityEveryMs = 600_000

await runCommand(help, {}, async (_options, [mode = 'follow']) => {
  if (!['follow', 'build', 'rebuild'].includes(mode)) throw new UsageError(`There is no mode ${mode}: use follow, build or rebuild.`)
  const config = readIndexerConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 2 })
  const engine = openEngine(config.MEILI_URL, config.MEILI_MASTER_KEY)
  const target = { db, engine, indexName: config.SEARCH_INDEX, engineName: config.SEARCH_ENGINE }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

  async function build(): Promise<void> {
    await ensureSearchKey(engine)
    await registerEngine(db, target.engineName)
    await refreshPopularity(db)
    if (mode === 'rebuild' || (await needsRebuild(engine, target.indexName))) {
      const count = await rebuild(db, engine, { ...target, onProgress: (documents) => console.log(`Indexing: ${documents} products`) })
      console.log(`The index holds ${count} products.`)
    }
  }

  async function follow(): Promise<void> {
    let popularityAt = performance.now()
    while (!stop.signal.aborted) {
      const settled = await syncBatch(target)
      if (settled > 0) continue
      if (mode !== 'follow') return
      if (performance.now() - popularityAt > popularityEveryMs) {
        await refreshPopularity(db)
        popularityAt = performance.now()
      }
      await pause(pollEveryMs, stop.signal)
    }
  }

  try {
    for (;;) {
      try {
        await build()
        if (mode === 'follow') console.log('Following changes.')
        await follow()
        return 0
      } catch (error) {
        if (mode !== 'follow') throw error
        if (stop.signal.aborted) return 0
        console.error(`${messageOf(error)}. Trying again.`)
        await pause(retryEveryMs, stop.signal)
      }
    }
  } finally {
    await db.destroy()
  }
})

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
