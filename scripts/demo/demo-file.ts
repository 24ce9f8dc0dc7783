// data/demo.json: what a start of the demo writes down, for the next start and for whoever works with it.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

export type DemoFile = {
  url: string
  opsUrl: string
  searchKey: string
  statsKey: string
  paletteKey: string
  shareUrl: string
  databaseUrl: string
  redisUrl: string | null
  meiliUrl: string
  meiliPid: number | null
}

/** What the last start wrote: its keys and link go on working. Null where there is nothing of use. */
export function readDemoFile(file: string): Partial<DemoFile> | null {
  try {
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Partial<DemoFile>) : null
  } catch {
    return null
  }
}

/** Readable for its owner only: keys are in it. */
export function writeDemoFile(file: string, demo: DemoFile): void {
  writeFileSync(`${file}.new`, JSON.stringify(demo, null, 2), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
