// The hash of the code that computes statistics. It is part of the keys in Redis, so that no
// release sends what another release computed, or reads what another release wrote.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * All files of stats/ belong here for simplicity, so the shared cache begins empty after any edit
 * there. A file elsewhere belongs here if it can change the values of statistics, or what Redis
 * stores of them. A file that only decides when, where or for whom they are computed does not
 * belong here. Examples are those of connections, waiting times and access.
 * test/stats/cache/shared-stats-cache.test.ts checks the files that read-stats.ts imports.
 */
export const sourceFiles = [
  'stats/**/*.ts',
  'company/calendar.ts',
  'company/currencies.ts',
  'company/money.ts',
  'database/quote-statuses.ts',
  // They define what the database computes.
  'database/schema/*.sql',
]
const sourceDirectory = join(import.meta.dirname, '../..')

export const codeHash = hashFiles(sourceDirectory, sourceFiles)

/**
 * Returns the hash of the names and texts of the files in `directory` that match the patterns.
 * Throws if one of the patterns matches no file: if the sources are missing, as in a bundle, all
 * releases would get the same hash and share their statistics.
 */
export function hashFiles(directory: string, patterns: string[]): string {
  const hash = createHash('sha256')
  for (const pattern of patterns) {
    const files = globSync(pattern, { cwd: directory }).toSorted()
    if (files.length === 0)
      throw new Error(`The hash of the statistics code needs ${pattern}, but no file matches`)
    for (const file of files)
      hash.update(JSON.stringify([file, readFileSync(join(directory, file), 'utf8')]))
  }
  return hash.digest('base64url').slice(0, 16)
}
