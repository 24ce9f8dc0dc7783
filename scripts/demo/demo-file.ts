// data/demo.json: the addresses and keys of the demo, for the next start and for developers.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

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

/** Only the owner can read the file, because it contains keys. */
export function writeDemoFile(file: string, demo: DemoFile): void {
  writeFileSync(`${file}.new`, JSON.stringify(demo, null, 2), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
