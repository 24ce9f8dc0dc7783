// The version of the code that computes statistics, as a hash of its sources. It is part of the
// keys in Redis, so that no release sends what another release computed.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Increase it if a migration makes the database compute the summary differently: the hash does not
 * cover migrations.
 */
const summaryVersion = 1

const sourceFiles = [
  'stats/**/*.ts',
  'company/calendar.ts',
  'company/currencies.ts',
  'company/money.ts',
]
const sourceDirectory = join(import.meta.dirname, '../..')

export const computationVersion = `${summaryVersion}-${hashSources()}`

/** Returns a hash of the code that computes and formats statistics. */
function hashSources(): string {
  const hash = createHash('sha256')
  for (const file of globSync(sourceFiles, { cwd: sourceDirectory }).toSorted())
    hash.update(readFileSync(join(sourceDirectory, file)))
  return hash.digest('base64url').slice(0, 16)
}
