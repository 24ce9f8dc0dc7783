// Chooses the account that a server runs under and the directory of its files: never root, and a
// directory that the account can enter.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { ReportProgress } from './running-server.ts'

/** Empty for an ordinary user, whose servers run under the same account. */
export type Account = { uid?: number; gid?: number }
export type Place = { directory: string; account: Account }

const nobody = { uid: 65534, gid: 65534 }

/**
 * Prepares `requested`, a directory for one server alone. Returns the directory to run in and the
 * account to run under. For root that is the owner of the directory, or nobody (65534) if root owns
 * it; the directory is then given to that account. If the account cannot enter it because of a
 * parent such as /root, a directory below /var/lib is used instead.
 */
export function preparePlace(
  requested: string,
  name: string,
  reportProgress: ReportProgress,
): Place {
  const path = resolve(requested)
  if (makeDirectory(path)) chmodSync(path, 0o700)
  if (process.getuid?.() !== 0) {
    if (canUse({ directory: path, account: {} })) return { directory: path, account: {} }
    throw new Error(
      `${name}: ${path} is not writable for this user. ` +
        'Choose another directory, or give it to this user (chown -R).',
    )
  }
  const { uid, gid } = statSync(path)
  const account = uid === 0 ? nobody : { uid, gid }
  if (!canUse({ directory: '/', account }, '-x')) {
    throw new Error(
      `${name} does not run as root, and this root cannot switch to uid ${account.uid}. ` +
        'Run it as an ordinary user.',
    )
  }
  if (uid === 0) {
    if (!isEmptyOrOurs(path))
      throw new Error(`${name}: ${path} contains other files. Choose another directory.`)
    giveTo(account, path)
  }
  if (canUse({ directory: path, account })) return { directory: path, account }
  const directory = findOrMakeFallbackDirectory(path)
  giveTo(account, directory)
  reportProgress(
    `${name} runs as uid ${account.uid}, which cannot enter ${path}: ` +
      `its files are in ${directory}`,
  )
  return { directory, account }
}

/**
 * Changes the owner of a file, or of a directory with its contents. Does nothing for an ordinary
 * user. Does not follow links.
 */
export function giveTo(account: Account, path: string): void {
  if (account.uid === undefined || account.gid === undefined) return
  const entries = lstatSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
    : []
  for (const entry of [path, ...entries.map(({ parentPath, name }) => join(parentPath, name))])
    lchownSync(entry, account.uid, account.gid)
}

/**
 * Tries it: mode bits alone do not tell, because of access lists, mounts and parent directories.
 */
function canUse({ directory, account }: Place, access: '-w' | '-x' = '-w'): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$0" && test "$1" .', directory, access], {
    ...account,
    cwd: '/',
  })
  return status === 0
}

/** Whether the directory is empty, or holds the files of an earlier start (with `running.json`). */
function isEmptyOrOurs(directory: string): boolean {
  const entries = readdirSync(directory)
  return entries.length === 0 || entries.includes('running.json')
}

/** Not below /tmp or /var/tmp: the system deletes old files there, one by one. */
const base = '/var/lib/trade-quoting-service'
/** The file in the requested directory that names the fallback directory, for `make clean` too. */
const forwardFile = 'moved-to'

/** Returns the fallback directory of `requested`, which is created on first use. */
function findOrMakeFallbackDirectory(requested: string): string {
  const forward = join(requested, forwardFile)
  const existing = existsSync(forward) ? readFileSync(forward, 'utf8').trim() : ''
  if (existing !== '' && lstatSync(existing, { throwIfNoEntry: false })?.isDirectory())
    return existing
  mkdirSync(base, { recursive: true })
  chmodSync(base, 0o755)
  const directory = mkdtempSync(join(base, 'data-'))
  writeFileSync(forward, `${directory}\n`)
  return directory
}

/**
 * Creates a directory and its missing parents. Returns whether anything was created. Throws an
 * error that names the path that is a file or cannot be created.
 */
export function makeDirectory(path: string): boolean {
  const missing: string[] = []
  for (let current = path; ; current = dirname(current)) {
    const found = statSync(current, { throwIfNoEntry: false })
    if (found?.isDirectory()) break
    if (found)
      throw new Error(
        `${current} is a file, so ${path} cannot be a directory. Choose another directory.`,
      )
    missing.unshift(current)
  }
  // Not with `recursive`: Node then loops forever below some read-only paths, such as /proc.
  for (const directory of missing) {
    try {
      mkdirSync(directory)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') continue
      throw new Error(`${directory} cannot be created (${code}). Choose another directory.`, {
        cause: error,
      })
    }
  }
  return missing.length > 0
}
