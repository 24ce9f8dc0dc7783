// Making a directory, or saying which part of its path is in the way.
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes a directory and what is missing above it; whether it had to. Throws with the path that is no directory, or that refuses one. */
export function makeDirectory(path: string): boolean {
  const missing: string[] = []
  for (let at = path; ; at = dirname(at)) {
    const found = statSync(at, { throwIfNoEntry: false })
    if (found?.isDirectory()) break
    if (found)
      throw new Error(`${at} is a file, so ${path} cannot be a directory. Choose another place.`)
    missing.unshift(at)
  }
  // One by one: asked for all of them at once, Node tries forever below some places that refuse, such as /proc.
  for (const directory of missing) {
    try {
      mkdirSync(directory)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw new Error(
        `${directory} cannot be made (${(error as NodeJS.ErrnoException).code}). Choose another place.`,
        { cause: error },
      )
    }
  }
  return missing.length > 0
}
