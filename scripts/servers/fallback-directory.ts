// Where root's servers keep their files when their account cannot enter the directory asked for, such as one below /root.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isRunning } from './previous-run.ts'

// Not below /tmp or /var/tmp: those are emptied at boot or by age, file by file, under a database that is not looking.
const base = '/var/lib/trade-quoting-service'

/** Answers the directory that stands for `asked`: the one noted there, in `moved-to`, else a new one, which is root's as yet. */
export function findOrMakeFallbackDirectory(asked: string): string {
  const known = read(join(asked, 'moved-to'))
  if (known !== '' && lstatSync(known, { throwIfNoEntry: false })?.isDirectory()) return known
  mkdirSync(base, { recursive: true })
  chmodSync(base, 0o755)
  const directory = mkdtempSync(join(base, 'data-'))
  writeFileSync(join(directory, 'instead-of'), `${asked}\n`)
  writeFileSync(join(asked, 'moved-to'), `${directory}\n`)
  return directory
}

/** Removes the directories that stand for one which is gone: who deletes a data directory means its data. */
export function removeOrphanedDirectories(): void {
  for (const entry of existsSync(base) ? readdirSync(base) : []) {
    const directory = join(base, entry)
    const note = join(directory, 'instead-of')
    const asked = read(note)
    const isWanted = asked === '' || read(join(asked, 'moved-to')) === directory
    if (isWanted || isRunning(directory)) continue
    const madeMs = statSync(note, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - madeMs > 60_000) rmSync(directory, { recursive: true, force: true }) // a new one may be about to be noted
  }
}

const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '')
