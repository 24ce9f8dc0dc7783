// data/demo.json: the addresses and keys of the demo, for the next start and for developers.
// data/demo.env: what a shell needs to use scripts/run and curl on the demo.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type DemoFile = {
  url: string
  opsUrl: string
  searchKey: string
  statsKey: string
  detailKey: string
  paletteKey: string
  shareUrl: string
  databaseUrl: string
  redisUrl: string | null
  meiliUrl: string
  meiliPid: number | null
}

/** Returns what the previous start wrote, or null if the file is missing or damaged. */
export function readDemoFile(file: string): Partial<DemoFile> | null {
  try {
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<DemoFile>) : null
  } catch {
    return null
  }
}

/** Only the owner can read the two files, because they contain keys and a password. */
export function writeDemoFile(file: string, demo: DemoFile): void {
  replaceFile(file, JSON.stringify(demo, null, 2))
  const variables = {
    DATABASE_URL: demo.databaseUrl,
    PUBLIC_BASE_URL: demo.url,
    QUOTE_LINK: demo.shareUrl,
  }
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  )
  replaceFile(shellFileOf(file), lines.join(''))
}

/** Deletes the file for shells. `file`, which is the one beside it, keeps the keys and the link. */
export function deleteShellFile(file: string): void {
  rmSync(shellFileOf(file), { force: true })
}

/** Returns the name of the file that a shell reads, beside the JSON file. */
function shellFileOf(file: string): string {
  return join(dirname(file), 'demo.env')
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
