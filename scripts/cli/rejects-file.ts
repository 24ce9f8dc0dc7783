// The file of the option --rejects. It is written under a temporary name and renamed when complete.
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'

export type RejectsFile = {
  stream: Writable
  /**
   * Call it after the import. Gives the file its name if rows were rejected; otherwise removes it,
   * and an older file of that name.
   */
  publish(rejectedRows: number): Promise<void>
  /** Removes the temporary file. Does nothing after `publish`. */
  discard(): Promise<void>
}

/**
 * Opens a temporary file beside `file`. Throws if it cannot be written, if `file` exists and is not
 * a regular file, and if `file` is the file that is imported.
 */
export async function openRejectsFile(file: string, importedFile: string): Promise<RejectsFile> {
  await checkTarget(file, importedFile)
  const temporaryFile = `${file}.partial-${process.pid}`
  const handle: FileHandle = await open(temporaryFile, 'w').catch((error: Error) => {
    throw new Error(`--rejects ${file} cannot be written: ${error.message}`, { cause: error })
  })
  const stream = handle.createWriteStream()
  let isPublished = false
  return {
    stream,
    async publish(rejectedRows) {
      isPublished = true
      if (rejectedRows === 0) {
        await Promise.all([temporaryFile, file].map((name) => rm(name, { force: true })))
        return
      }
      await rename(temporaryFile, file).catch((error: Error) => {
        throw new Error(
          'The valid rows were imported, but the file of rejected rows could not be renamed. ' +
            `The rejected rows are in ${temporaryFile}: ${error.message}`,
          { cause: error },
        )
      })
    },
    async discard() {
      if (isPublished) return
      stream.destroy()
      await rm(temporaryFile, { force: true })
    },
  }
}

async function checkTarget(file: string, importedFile: string): Promise<void> {
  // Opening the file reports any error but a missing file.
  const existing = await stat(file).catch(() => undefined)
  if (!existing) return
  if (!existing.isFile())
    throw new Error(`--rejects ${file}: this is not a regular file. Give a name for a new file.`)
  if (importedFile === '-') return
  // If the imported file disappeared, reading it reports the error.
  const importedPath = await realpath(importedFile).catch(() => undefined)
  if ((await realpath(file)) === importedPath)
    throw new Error(
      `--rejects ${file}: this is the file that is imported, and would be lost. ` +
        'Give another name.',
    )
}
