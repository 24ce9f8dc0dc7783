// Finds the program of a server: on the PATH, from an earlier download, or from its Debian package.
import { globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from '../data-directory/server-account.ts'
import type { ReportProgress } from '../running-server.ts'
import { type DebianPackage, installDebianPackage } from './debian-package.ts'
import { copyInto, versionOf } from './runnable-binary.ts'

export type FoundProgram = {
  program: string
  /** The directory with the unpacked packages, for a program that is not the system's. */
  unpacked?: string
}

type WantedProgram = DebianPackage & {
  /** Names that the program may have on the PATH, the best first. */
  programNames: string[]
  /** Where the package has its program. */
  packagedProgram: string
  /** What to do if there is none. */
  advice: string
}

/** The directory that the package of this name is unpacked into. */
export const unpackDirectory = (name: string) =>
  fileURLToPath(new URL(`../../../node_modules/.cache/${name}`, import.meta.url))

/** Finds the program, or installs it. Returns null, after one line of progress, if that fails. */
export async function findProgram(
  wanted: WantedProgram,
  { reportProgress, path, unpackTo }: Finding,
): Promise<FoundProgram | null> {
  const found = findInstalled(wanted, path, unpackTo)
  if (found !== null) return found
  const problem = await installDebianPackage(wanted, unpackTo, path, reportProgress)
  const installed = findInstalled(wanted, path, unpackTo)
  if (installed === null)
    reportProgress(
      `no ${wanted.title} found (${problem ?? 'the program from its packages does not run'}): ` +
        wanted.advice,
    )
  return installed
}

type Finding = { reportProgress: ReportProgress; path: string; unpackTo: string }

function findInstalled(
  { programNames, packagedProgram }: WantedProgram,
  path: string,
  unpackTo: string,
): FoundProgram | null {
  const candidates: FoundProgram[] = [
    ...programNames.flatMap((name) =>
      path.split(delimiter).map((directory) => ({ program: join(directory || '.', name) })),
    ),
    { program: join(unpackTo, packagedProgram), unpacked: unpackTo },
  ]
  const ownPlace = { directory: '/', account: {} }
  return (
    candidates.find(
      ({ program, unpacked }) => versionOf(program, ownPlace, libraryPath(unpacked)) !== undefined,
    ) ?? null
  )
}

/** Returns the command and environment that run it for the account, from a copy if necessary. */
export async function runnableProgram(
  { program, unpacked }: FoundProgram,
  { packagedProgram, name }: Pick<WantedProgram, 'packagedProgram' | 'name'>,
  place: Place,
): Promise<{ command: string; env: NodeJS.ProcessEnv }> {
  if (versionOf(program, place, libraryPath(unpacked)) !== undefined)
    return { command: program, env: libraryPath(unpacked) }
  const copy = await copyInto(place, unpacked ?? program, `${name}-program`)
  return unpacked === undefined
    ? { command: copy, env: {} }
    : { command: join(copy, packagedProgram), env: libraryPath(copy) }
}

/** Makes the libraries of the unpacked packages known to the loader. */
function libraryPath(unpacked: string | undefined): NodeJS.ProcessEnv {
  if (unpacked === undefined) return {}
  const folders = new Set(
    globSync('**/*.so*', { cwd: unpacked }).map((file) => join(unpacked, dirname(file))),
  )
  return { LD_LIBRARY_PATH: [...folders].join(delimiter) }
}
