// Creates a directory with its parents, with a clear error if one of them cannot be created.
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

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
