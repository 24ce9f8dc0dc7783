// The file that rejected rows are written to: it appears complete or not at all.
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'

export type RejectsFile = {
  stream: Writable
  /** After an import that rejected rows: gives the file its name. After one that rejected none: there is no file, not even an older one. */
  keep(rejected: number): Promise<void>
  /** Leaves nothing behind; does nothing after `keep`. */
  discard(): Promise<void>
}

/** Opens a temporary file beside `file`. Throws when that cannot be written, or when `file` is the one that is imported or no plain file. */
export async function openRejectsFile(file: string, imported: string): Promise<RejectsFile> {
  const existing = await stat(file).catch(() => undefined)
  if (existing && !existing.isFile())
    throw new Error(`--rejects ${file}: this is not a plain file. Give a name for a new file.`)
  if (
    existing &&
    imported !== '-' &&
    (await realpath(file)) === (await realpath(imported).catch(() => undefined))
  ) {
    throw new Error(
      `--rejects ${file}: this is the file that is imported, and would be lost. Give another name.`,
    )
  }
  const temporary = `${file}.partial-${process.pid}`
  const handle: FileHandle = await open(temporary, 'w').catch((error: Error) => {
    throw new Error(`--rejects ${file} cannot be written: ${error.message}`, { cause: error })
  })
  const stream = handle.createWriteStream()
  let kept = false
  return {
    stream,
    async keep(rejected) {
      kept = true
      if (rejected > 0) {
        await rename(temporary, file).catch((error: Error) => {
          throw new Error(
            `The good rows were imported, but the rejected ones had to stay in ${temporary}: ${error.message}`,
            {
              cause: error,
            },
          )
        })
      } else {
        await Promise.all([temporary, file].map((name) => rm(name, { force: true })))
      }
    },
    async discard() {
      if (kept) return
      stream.destroy()
      await rm(temporary, { force: true })
    },
  }
}
