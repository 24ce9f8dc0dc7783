// Where servers started by root keep their files when their account cannot enter the requested
// directory, such as one below /root.
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
import { isRunning } from '../previous-run.ts'

/** Not below /tmp or /var/tmp: the system deletes old files there, one by one. */
const base = '/var/lib/trade-quoting-service'
/** The file in the requested directory that names the fallback directory. */
const forwardFile = 'moved-to'
/** The file in the fallback directory that names the requested directory. */
const originFile = 'instead-of'
/** How long a new fallback directory may exist before the requested directory names it. */
const newDirectoryMs = 60_000

/** Returns the fallback directory of `requested`, which is created, owned by root, on first use. */
export function findOrMakeFallbackDirectory(requested: string): string {
  const existing = readIfExists(join(requested, forwardFile))
  if (existing !== '' && lstatSync(existing, { throwIfNoEntry: false })?.isDirectory())
    return existing
  mkdirSync(base, { recursive: true })
  chmodSync(base, 0o755)
  const directory = mkdtempSync(join(base, 'data-'))
  writeFileSync(join(directory, originFile), `${requested}\n`)
  writeFileSync(join(requested, forwardFile), `${directory}\n`)
  return directory
}

/** Deletes the fallback directories whose requested directory has been deleted. */
export function removeOrphanedDirectories(): void {
  for (const entry of existsSync(base) ? readdirSync(base) : []) {
    const directory = join(base, entry)
    const origin = join(directory, originFile)
    const requested = readIfExists(origin)
    const isInUse = requested === '' || readIfExists(join(requested, forwardFile)) === directory
    if (isInUse || isRunning(directory)) continue
    const createdAt = statSync(origin, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - createdAt > newDirectoryMs) rmSync(directory, { recursive: true, force: true })
  }
}

const readIfExists = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '')
