// Makes a server's program runnable for the account it runs as: npm may have stored it without its run bit, or where nobody cannot enter.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { chmod, cp, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { giveTo, type Place } from './server-account.ts'

/** Whether the program starts for the account of the place, with all its libraries: answers what `--version` prints, else undefined. */
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
    timeout: 10_000,
  } as const
  const { status, stdout } = spawnSync(program, ['--version'], options)
  return status === 0 ? stdout.trim() : undefined
}

/** Copies a program, or the directory of one, into the place, for its account. A copy that is there and newer stays. Answers its path. */
export async function copyInto(place: Place, source: string, name: string): Promise<string> {
  const copy = join(place.directory, name)
  if (existsSync(copy) && statSync(copy).ctimeMs > statSync(source).ctimeMs) return copy
  const half = `${copy}.half`
  try {
    await rm(half, { recursive: true, force: true })
    await cp(await realpath(source), half, { recursive: true, verbatimSymlinks: true })
    await chmod(half, 0o755)
    giveTo(place.account, half)
    await rm(copy, { recursive: true, force: true })
    await rename(half, copy)
  } finally {
    await rm(half, { recursive: true, force: true })
  }
  return copy
}
