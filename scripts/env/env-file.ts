// What every .env has: random secrets, the keys of Meilisearch, and how the file is written.
import { randomBytes } from 'node:crypto'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Settings } from '../../src/config/settings-schema.ts'
import { deriveIndexerKey, deriveSearchKey } from '../../src/indexing/keys.ts'

/** Returns 32 random bytes in letters that need no encoding in a URL. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns a new master key of Meilisearch, and the keys that are derived from it. */
export function createEngineKeys() {
  const masterKey = createSecret()
  return {
    MEILI_MASTER_KEY: masterKey,
    MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
    MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
  }
}

export type SettingName = keyof typeof Settings.properties

/** Returns the lines of a setting: its description, and its default. */
export function describeSetting(name: SettingName): string[] {
  const { description, default: value } = Settings.properties[name]
  return [`# ${description}`, `${name}=${value ?? ''}`]
}

/** Returns the text of an .env with these secrets and lines added. Fills in empty secrets. */
export function addToEnv(text: string, secrets: Record<string, string>, lines: string[]): string {
  let filled = text
  const appended: string[] = []
  for (const [name, value] of Object.entries(secrets)) {
    const line = `${name}=${value}`
    const empty = new RegExp(
      `^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*(?:""|'')?[ \\t]*$`,
      'm',
    )
    if (empty.test(filled)) filled = filled.replace(empty, () => line)
    else appended.push(line)
  }
  if (appended.length + lines.length === 0) return filled
  const end = filled === '' || filled.endsWith('\n') ? '' : '\n'
  const heading = ['', '# Added by `make env`, because a newer version needs it.']
  return `${filled}${end}${[...heading, ...appended, ...lines, ''].join('\n')}`
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
