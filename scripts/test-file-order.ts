// Which test files there are, in which order they run, and which of them share a process.
import { globSync } from 'node:fs'
import { join } from 'node:path'

/** The files that compute longest. They start first, so that none of them runs alone at the end. */
const longestFiles = [
  'test/web/every-browser.browser.ts',
  'test/scripts/demo.local.ts',
  'test/database/migrations.test.ts',
]

/**
 * Files that spend most of their time waiting, such as for a time limit. They share one process,
 * which runs beside those that compute. Together they take a little less time than a run.
 */
const waitingFiles = [
  'test/server/start-and-stop.test.ts',
  'test/indexing/steady-changes.test.ts',
  'test/search-engine/engine-failures.test.ts',
  'test/stats/cache/shared-data-version.test.ts',
  'test/search/engine-outages.test.ts',
  'test/stats/response-bodies.test.ts',
  'test/search-report/search-report.test.ts',
  'test/http/problem-details.test.ts',
  'test/search/fallback/postgres-limits.test.ts',
  'test/search-engine/shared-index-states.test.ts',
  'test/auth/api-key-check.test.ts',
  'test/indexing/rebuild/rolling-upgrade.test.ts',
  'test/tracing/traces.test.ts',
]

/** How the name of a process begins that several files share. */
export const sharedProcess = 'shared process'

/** A process for fewer files would cost more than it evens out. */
const fewestFilesPerProcess = 4

/** Each kind of test file has a target of the Makefile. Its files end with `.KIND.ts`. */
export const testKinds = ['test', 'local', 'browser', 'cluster', 'operations', 'endurance'] as const
export type TestKind = (typeof testKinds)[number]

/** Returns the paths of all test files of a kind, wherever they are. */
export function findTestFiles(kind: TestKind): string[] {
  const cwd = join(import.meta.dirname, '..')
  return globSync(`test/**/*.${kind}.ts`, { cwd, exclude: ['**/node_modules/**'] }).sort()
}

/** Returns the files, those that take longest first. */
export function putLongestFirst(files: string[]): string[] {
  return [...new Set([...longestFiles.filter((file) => files.includes(file)), ...files])]
}

/**
 * Returns the files of each process, and how many processes run at a time: `jobs`, and one with the
 * files that wait. A process costs a second of processor time before its first test, which is more
 * than many files need. The longest files, and those that other targets than `make test` run, have
 * a process of their own.
 */
export function groupByProcess(
  files: string[],
  jobs: number,
): { groups: string[][]; processes: number } {
  const waiting = waitingFiles.filter((file) => files.includes(file))
  const computing = files.filter((file) => !waiting.includes(file))
  const isShort = (file: string) => file.endsWith('.test.ts') && !longestFiles.includes(file)
  const alone = computing.filter((file) => !isShort(file)).map((file) => [file])
  const groups = [...alone, ...groupShortFiles(computing.filter(isShort), jobs)]
  return waiting.length === 0
    ? { groups, processes: jobs }
    : { groups: [waiting, ...groups], processes: jobs + 1 }
}

/** The later a process starts, the fewer files it gets, so that the last ones end together. */
function groupShortFiles(files: string[], jobs: number): string[][] {
  const groups: string[][] = []
  for (let start = 0; start < files.length; start += groups.at(-1)?.length ?? 0) {
    const left = files.length - start
    // Half of what each job would get, so that long files even out.
    const size = Math.max(fewestFilesPerProcess, Math.ceil(left / (2 * jobs)))
    groups.push(files.slice(start, start + Math.min(size, Math.ceil(files.length / jobs))))
  }
  return groups
}
