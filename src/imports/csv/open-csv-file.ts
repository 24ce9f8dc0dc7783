// Opens what is to be imported: a CSV file, a gzipped one, or standard input.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BadFile } from './invalid-file.ts'
import { countLineFeeds } from './utf8-check.ts'

export type CsvSource = {
  /** The bytes of the CSV, unzipped. Throws a BadFile where the gzip is damaged. */
  csv: AsyncIterable<Buffer>
  /** How much of the file has been read, 0 to 1; undefined where its size is not known. */
  fractionRead(): number | undefined
}

/**
 * Opens a file by its name, `-` for `standardInput`. gzip is known by its first bytes. Aborting `signal` ends the reading. Throws a BadFile for a file
 * that cannot be opened.
 */
export async function openCsv(
  file: string,
  standardInput: Readable,
  signal: AbortSignal,
): Promise<CsvSource> {
  if (file === '-')
    return {
      csv: unzip(addAbortSignal(signal, standardInput), false),
      fractionRead: () => undefined,
    }
  const { size, directory } = await stat(file).then(
    (found) => ({ size: found.isFile() ? found.size : 0, directory: found.isDirectory() }),
    (error: NodeJS.ErrnoException) => {
      throw new BadFile(
        error.code === 'ENOENT'
          ? 'There is no such file.'
          : `The file cannot be opened: ${error.message}`,
      )
    },
  )
  if (directory) throw new BadFile('This is a directory, not a file.')
  const bytes = createReadStream(file, { signal })
  return {
    csv: unzip(bytes, file.endsWith('.gz')),
    fractionRead: () => (size > 0 ? bytes.bytesRead / size : undefined),
  }
}

async function* unzip(bytes: Readable, mustBeGzip: boolean): AsyncGenerator<Buffer> {
  let lines = 0
  try {
    const { start, rest } = await readStart(bytes)
    const gzip = start[0] === 0x1f && start[1] === 0x8b
    if (mustBeGzip && !gzip)
      throw new BadFile(
        'The file is named .gz but is not gzip. Name it .csv if it is plain CSV; else make it again.',
      )
    if (gzip) {
      // Errors before and in the unzipping come out of its end, so the callback has nothing to add.
      for await (const piece of pipeline(
        Readable.from(joined(start, rest)),
        createGunzip(),
        () => {},
      )) {
        yield piece
        lines += countLineFeeds(piece)
      }
    } else {
      yield* joined(start, rest)
    }
  } catch (error) {
    if (error instanceof BadFile || !(error instanceof Error)) throw error
    const damaged = 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
    throw new BadFile(
      damaged
        ? `The gzip is damaged or cut short (${error.message}); ${lines} lines of it were read. Make or fetch the file again.`
        : `The file cannot be read: ${error.message}`,
      { cause: error },
    )
  } finally {
    bytes.destroy()
  }
}

/** The first bytes, two at least where there are so many, and those that follow. */
async function readStart(bytes: Readable): Promise<{ start: Buffer; rest: AsyncIterable<Buffer> }> {
  const rest: AsyncIterableIterator<Buffer> = bytes.iterator({ destroyOnReturn: false })
  let start: Buffer = Buffer.alloc(0)
  while (start.length < 2) {
    const { value, done } = await rest.next()
    if (done) break
    start = Buffer.concat([start, value])
  }
  return { start, rest }
}

async function* joined(start: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (start.length > 0) yield start
  yield* rest
}
