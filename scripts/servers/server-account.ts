// Who a server runs as and where it keeps its files: never as root, and in a directory that its account can really enter.
import { spawnSync } from 'node:child_process'
import { chmodSync, lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findOrMakeFallbackDirectory, removeOrphanedDirectories } from './fallback-directory.ts'
import { makeDirectory } from './make-directory.ts'
import type { ReportProgress } from './running-server.ts'

/** Whom to become: empty for an ordinary user, who stays who they are. */
export type Account = { uid?: number; gid?: number }
export type Place = { directory: string; account: Account }

const nobody = { uid: 65534, gid: 65534 }

/**
 * Makes `requested` (a directory for one server alone) ready and answers where to run and as whom. As root that is the directory's owner,
 * or nobody (65534) for one that root owns, which is then given to them; when they cannot enter it, because of a parent such
 * as /root, a directory below /var/lib takes its place.
 */
export function preparePlace(
  requested: string,
  name: string,
  reportProgress: ReportProgress,
): Place {
  const asked = resolve(requested)
  if (makeDirectory(asked)) chmodSync(asked, 0o700)
  if (process.getuid?.() !== 0) {
    if (canUse({ directory: asked, account: {} })) return { directory: asked, account: {} }
    throw new Error(
      `${name}: ${asked} is not writable for this user. Choose another directory, or give it to this user (chown -R).`,
    )
  }
  removeOrphanedDirectories()
  const { uid, gid } = statSync(asked)
  const account = uid === 0 ? nobody : { uid, gid }
  if (!canUse({ directory: '/', account }, '-x')) {
    throw new Error(
      `${name} does not run as root, and this root may not become uid ${account.uid}. Run as an ordinary user instead.`,
    )
  }
  if (uid === 0) {
    if (!isOurs(asked))
      throw new Error(`${name}: ${asked} holds files of somebody else. Choose another directory.`)
    giveTo(account, asked)
  }
  if (canUse({ directory: asked, account })) return { directory: asked, account }
  const directory = findOrMakeFallbackDirectory(asked)
  giveTo(account, directory)
  reportProgress(
    `${name} runs as uid ${account.uid}, which cannot enter ${asked}: its files are in ${directory}`,
  )
  return { directory, account }
}

/** Gives a file, or a directory and all in it, to the account (nothing to do for an ordinary user). Links are not followed. */
export function giveTo(account: Account, path: string): void {
  if (account.uid === undefined || account.gid === undefined) return
  const within = lstatSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
    : []
  for (const entry of [path, ...within.map(({ parentPath, name }) => join(parentPath, name))])
    lchownSync(entry, account.uid, account.gid)
}

// Tried rather than computed from mode bits: access lists, mounts and every parent count.
function canUse({ directory, account }: Place, how = '-w'): boolean {
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$0" && test "$1" .', directory, how], { ...account, cwd: '/' })
      .status === 0
  )
}

// Before root gives away all that is in a directory: nothing, or the files of an earlier start that were copied here.
function isOurs(directory: string): boolean {
  const entries = readdirSync(directory)
  return entries.length === 0 || entries.includes('running.json')
}
