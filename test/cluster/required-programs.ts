// The programs of the system that the cluster test needs.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const requiredPrograms = [
  { names: ['haproxy'], debianPackage: 'haproxy' },
  { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' },
]
/** Debian has servers where only root looks for programs. */
const moreFolders = ['/usr/sbin', '/usr/local/sbin']

/** Returns the path of a program of the system, or undefined if it is not installed. */
export function findOnPath(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...moreFolders]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** Throws an error that names every program that is missing, and how to install it. */
export function checkRequiredPrograms(): void {
  const missing = requiredPrograms.filter(({ names }) => !names.some(findOnPath))
  if (missing.length === 0) return
  const packages = missing.map(({ debianPackage }) => debianPackage).join(' ')
  throw new Error(
    `The cluster test needs programs that are missing: ` +
      `${missing.map(({ names }) => names.join(' or ')).join(', ')}. ` +
      `Install them (Debian: apt-get install ${packages}).`,
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
