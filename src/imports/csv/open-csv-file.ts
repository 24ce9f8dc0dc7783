// Opens the file to import: a CSV file, a gzipped CSV file, or standard input.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../import-error.ts'
import { countLineFeeds } from './file-encoding.ts'
import { prepend } from './prepend.ts'

export type CsvSource = {
  /** The bytes of the CSV, unzipped. Throws an ImportError if the gzip is damaged. */
  csv: AsyncIterable<Buffer>
  /** The fraction of the file that has been read, 0 to 1, or undefined if its size is unknown. */
  fractionRead(): number | undefined
}

/**
 * Opens a file by its name, or `standardInput` for `-`. The first bytes decide whether it is gzip.
 * Aborting `signal` stops the reading. Throws an ImportError if the file cannot be opened.
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
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new ImportError(
      error.code === 'ENOENT'
        ? 'There is no such file.'
        : `The file cannot be opened: ${error.message}`,
    )
  })
  if (stats.isDirectory()) throw new ImportError('This is a directory, not a file.')
  const size = stats.isFile() ? stats.size : 0
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
    const isGzip = start[0] === 0x1f && start[1] === 0x8b
    if (mustBeGzip && !isGzip)
      throw new ImportError(
        'The file is named .gz but is not gzip. Name it .csv if it is plain CSV, ' +
          'or create it again.',
      )
    if (!isGzip) {
      yield* prepend(start, rest)
      return
    }
    const source = Readable.from(prepend(start, rest))
    // Iterating over the pipeline throws its errors, so the callback has nothing to do.
    for await (const chunk of pipeline(source, createGunzip(), () => {})) {
      yield chunk
      lines += countLineFeeds(chunk)
    }
  } catch (error) {
    throw explainReadError(error, lines)
  } finally {
    bytes.destroy()
  }
}

function explainReadError(error: unknown, lines: number): unknown {
  if (error instanceof ImportError || !(error instanceof Error)) return error
  const isDamaged = 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
  return new ImportError(
    isDamaged
      ? `The gzip is damaged or cut short (${error.message}); ${lines} lines of it were read. ` +
          'Create or download the file again.'
      : `The file cannot be read: ${error.message}`,
    { cause: error },
  )
}

/** Returns at least the first two bytes, or all bytes if there are fewer, and the rest. */
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
