// What every .env has: random secrets, the keys of Meilisearch, and how the file is written.
import { randomBytes } from 'node:crypto'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { indexerKey, searchKey } from '../../src/indexing/engine-keys.ts'

/** Returns 32 random bytes in letters that need no encoding in a URL. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns a new master key of Meilisearch, and the keys that are derived from it. */
export function createEngineKeys() {
  const masterKey = createSecret()
  return {
    MEILI_MASTER_KEY: masterKey,
    MEILI_INDEXER_KEY: indexerKey(masterKey),
    MEILI_SEARCH_KEY: searchKey(masterKey),
  }
}

/** Writes the whole file or nothing, even if the disk is full or the power fails. */
export function writeAtomically(file: string, text: string, mode: number): void {
  const temporaryFile = `${file}.new`
  try {
    rmSync(temporaryFile, { force: true })
    writeFileSync(temporaryFile, text, { mode, flush: true })
    // The umask may have removed permissions.
    chmodSync(temporaryFile, mode)
    renameSync(temporaryFile, file)
  } catch (error) {
    rmSync(temporaryFile, { force: true })
    throw error
  }
}
