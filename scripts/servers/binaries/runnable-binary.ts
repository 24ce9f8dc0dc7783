// Makes a server's program executable for the account that it runs under: npm may have stored it
// without its execute bit, or in a directory that the account cannot enter.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { chmod, cp, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { giveTo, type Place } from '../data-directory/server-account.ts'

const versionTimeoutMs = 10_000

/** Returns the output of `--version`, or undefined if the account cannot start the program. */
export function versionOf(
  program: string,
  place: Place,
  env: NodeJS.ProcessEnv = {},
): string | undefined {
  const options = {
    ...place.account,
    cwd: place.directory,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    timeout: versionTimeoutMs,
  } as const
  const { status, stdout } = spawnSync(program, ['--version'], options)
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Copies a program, or a directory with one, into the place, unless there is a newer copy. Returns
 * the path of the copy.
 */
export async function copyInto(place: Place, source: string, name: string): Promise<string> {
  const copy = join(place.directory, name)
  if (existsSync(copy) && statSync(copy).ctimeMs > statSync(source).ctimeMs) return copy
  const incomplete = `${copy}.half`
  try {
    await rm(incomplete, { recursive: true, force: true })
    await cp(await realpath(source), incomplete, { recursive: true, verbatimSymlinks: true })
    await chmod(incomplete, 0o755)
    giveTo(place.account, incomplete)
    await rm(copy, { recursive: true, force: true })
    await rename(incomplete, copy)
  } finally {
    await rm(incomplete, { recursive: true, force: true })
  }
  return copy
}
