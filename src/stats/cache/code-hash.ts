// The hash of the code that computes statistics. It is part of the keys in Redis, so that no
// release sends what another release computed, or reads what another release wrote.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const sourceFiles = [
  'stats/**/*.ts',
  'company/calendar.ts',
  'company/currencies.ts',
  'company/money.ts',
  // They define what the database computes.
  'database/migrations/*.{ts,sql}',
]
const sourceDirectory = join(import.meta.dirname, '../..')

export const codeHash = hashSources()

function hashSources(): string {
  const hash = createHash('sha256')
  for (const file of globSync(sourceFiles, { cwd: sourceDirectory }).toSorted())
    hash.update(readFileSync(join(sourceDirectory, file)))
  return hash.digest('base64url').slice(0, 16)
}
