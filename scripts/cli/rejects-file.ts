// The file of the option --rejects. It is written under a temporary name and renamed when complete.
import { rmSync } from 'node:fs'
import { type FileHandle, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
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
 * Opens a temporary file beside `file`, and removes those of imports that were killed. Its own is
 * also removed if the process exits before `publish` or `discard`. Throws if it cannot be written,
 * if `file` exists and is not a regular file, and if `file` is the file that is imported.
 */
export async function openRejectsFile(file: string, importedFile: string): Promise<RejectsFile> {
  await checkTarget(file, importedFile)
  await removeStaleFiles(file)
  const temporaryFile = `${file}${temporarySuffix}${process.pid}`
  const handle: FileHandle = await open(temporaryFile, 'w').catch((error: Error) => {
    throw new Error(`--rejects ${file} cannot be written: ${error.message}`, { cause: error })
  })
  const stream = handle.createWriteStream()
  let isPublished = false
  const removeAtExit = () => rmSync(temporaryFile, { force: true })
  process.once('exit', removeAtExit)
  return {
    stream,
    async publish(rejectedRows) {
      isPublished = true
      process.off('exit', removeAtExit)
      if (rejectedRows === 0) {
        await rm(temporaryFile, { force: true })
        await rm(file, { force: true }).catch((error: Error) => {
          throw new Error(
            `Everything was imported, but the older ${file} could not be removed: ${error.message}`,
            { cause: error },
          )
        })
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
      process.off('exit', removeAtExit)
    },
  }
}

/** The number of the process follows. */
const temporarySuffix = '.partial-'

/** Removes the temporary files of imports that SIGKILL ended: they contain data of customers. */
async function removeStaleFiles(file: string): Promise<void> {
  const folder = dirname(file)
  const start = basename(file) + temporarySuffix
  // If the folder cannot be listed, opening the file reports the error.
  const names = await readdir(folder).catch(() => [])
  const stale = names.filter(
    (name) => name.startsWith(start) && !isRunning(Number(name.slice(start.length))),
  )
  await Promise.all(stale.map((name) => rm(join(folder, name), { force: true })))
}

function isRunning(processId: number): boolean {
  if (!Number.isInteger(processId) || processId < 1) return true
  try {
    return process.kill(processId, 0)
  } catch (error) {
    // EPERM: it belongs to another user.
    return error instanceof Error && 'code' in error && error.code !== 'ESRCH'
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
