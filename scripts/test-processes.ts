// Which test files there are, in which order they run, and which of them share a process.
import { globSync } from 'node:fs'
import { join } from 'node:path'

/** The files that take longest. They start first, so that none of them runs alone at the end. */
const longestFiles = [
  'test/scripts/demo.test.ts',
  'test/web/dashboard.test.ts',
  'test/web/palette.test.ts',
  'test/history/history.test.ts',
  'test/redis/redis-topologies.test.ts',
  'test/database/migrations.test.ts',
  'test/indexing/rebuild.test.ts',
  'test/search/engine-outages.test.ts',
  'test/server/start-and-stop.test.ts',
  'test/search-engine/engine-failures.test.ts',
  'test/quotes/bounded-rendering.test.ts',
  'test/stats/summary/logical-replication.test.ts',
  'test/stats/summary/folding.test.ts',
  'test/http/problem-details.test.ts',
  'test/stats/cache/shared-data-version.test.ts',
  'test/stats/response-bodies.test.ts',
  'test/database/quote-versions.test.ts',
  'test/quotes/quote-link.test.ts',
  'test/quotes/quote-pdf.test.ts',
  'test/quotes/link-attacks.test.ts',
  'test/quotes/quote-page-browser.test.ts',
  'test/indexing/several-indexers.test.ts',
  'test/indexing/rebuild-interruption.test.ts',
  'test/indexing/restored-servers.test.ts',
  'test/stats/summary/summary.test.ts',
  'test/stats/breakdowns.test.ts',
  'test/stats/cache/stats-cache.test.ts',
  'test/stats/cache/shared-stats-cache.test.ts',
  'test/tracing/traces.test.ts',
]

/** How the name of a process begins that several files share. */
export const sharedProcess = 'shared process'

/** Small enough that the last processes of a run end at about the same time. */
const filesPerProcess = 8

/** Returns the paths of all files of `make test`, those that take longest first. */
export function findTestFiles(): string[] {
  const cwd = join(import.meta.dirname, '..')
  const files = globSync('test/**/*.test.ts', { cwd, exclude: ['**/node_modules/**'] }).sort()
  return [...new Set([...longestFiles.filter((file) => files.includes(file)), ...files])]
}

/**
 * Returns the files of each process, in the order of `files`. A process costs 0.4 s of processor
 * time before its first test, which is more than most files need. The longest files, and those that
 * other targets than `make test` run, have a process of their own. `jobs` processes run at a time.
 */
export function groupByProcess(files: string[], jobs: number): string[][] {
  const isShort = (file: string) => file.endsWith('.test.ts') && !longestFiles.includes(file)
  const short = files.filter(isShort)
  const size = Math.min(filesPerProcess, Math.ceil(short.length / jobs))
  return files.flatMap((file) => {
    if (!isShort(file)) return [[file]]
    const position = short.indexOf(file)
    return position % size === 0 ? [short.slice(position, position + size)] : []
  })
}
