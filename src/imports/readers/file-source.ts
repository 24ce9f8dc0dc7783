// The bytes of the file to import: a file, a gzipped file, standard input, or chunks in memory.
// They can be read several times, because the form of a file is known only after its last row.
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../file-format.ts'

export type FileSource = {
  /** Reads the bytes from the start, unzipped. Throws an ImportError if the gzip is damaged. */
  read(): AsyncIterable<Buffer>
  /** Reading a workbook jumps in the file. */
  handle: FileHandle
  /** The fraction that the last reading has read, 0 to 1, or undefined if the size is unknown. */
  fractionRead(): number | undefined
  close(): Promise<void>
}

/** Chunks of text or bytes, or a source that openFile() has returned. */
export type ImportSource = FileSource | AsyncIterable<string | Buffer>

const chunkBytes = 65_536

/**
 * Opens a file by its name, or `standardInput` for `-`. The first bytes decide whether it is gzip.
 * Aborting `signal` stops the reading. Throws an ImportError if the file cannot be opened.
 */
export async function openFile(
  file: string,
  standardInput: Readable,
  signal: AbortSignal,
): Promise<FileSource | Readable> {
  if (file === '-') return addAbortSignal(signal, standardInput)
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new ImportError(
      error.code === 'ENOENT'
        ? 'There is no such file.'
        : `The file cannot be opened: ${error.message}`,
    )
  })
  if (stats.isDirectory()) throw new ImportError('This is a directory, not a file.')
  const handle = await open(file).catch((error: Error) => {
    throw new ImportError(`The file cannot be opened: ${error.message}`, { cause: error })
  })
  // A pipe can be read only once.
  if (!stats.isFile()) return handle.createReadStream({ signal })
  return createFileSource(handle, { size: stats.size, isGzip: file.endsWith('.gz'), signal })
}

/** Returns a source that can be read several times. Chunks are kept in a temporary file. */
export async function keepSource(source: ImportSource, signal?: AbortSignal): Promise<FileSource> {
  if ('handle' in source) return source
  const handle = await openTemporaryFile()
  try {
    signal?.throwIfAborted()
    // Without this, aborting would wait for the next chunk of a stream such as a terminal.
    if (signal && source instanceof Readable) addAbortSignal(signal, source)
    await handle.writeFile(source)
    const { size } = await handle.stat()
    return createFileSource(handle, { size, isGzip: false, signal })
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The file has no name any more, so nothing of it stays, however the process ends. */
async function openTemporaryFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'tqs-import-'))
  const handle = await open(join(folder, 'input'), 'wx+', 0o600)
  await rm(folder, { recursive: true })
  return handle
}

function createFileSource(
  handle: FileHandle,
  { size, isGzip, signal }: { size: number; isGzip: boolean; signal: AbortSignal | undefined },
): FileSource {
  /** Of the reading that began last. An earlier one that was given up may still read a chunk. */
  let lastReading = { position: 0 }
  async function* readChunks(): AsyncGenerator<Buffer> {
    const reading = { position: 0 }
    lastReading = reading
    for (;;) {
      signal?.throwIfAborted()
      const buffer = Buffer.allocUnsafe(chunkBytes)
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, reading.position)
      if (bytesRead === 0) return
      reading.position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }
  return {
    async *read() {
      const start = Buffer.alloc(2)
      await handle.read(start, 0, 2, 0).catch((error) => explainReadError(error, 0))
      const isGzipped = start.equals(gzipStart)
      if (isGzip && !isGzipped)
        throw new ImportError(
          'The file is named .gz but is not gzip. Name it .csv if it is plain CSV, ' +
            'or create it again.',
        )
      let lines = 0
      try {
        // Iterating over the pipeline throws its errors, so the callback has nothing to do.
        const bytes = isGzipped ? pipeline(readChunks(), createGunzip(), () => {}) : readChunks()
        for await (const chunk of bytes) {
          yield chunk
          if (isGzipped) lines += countLineFeeds(chunk)
        }
      } catch (error) {
        explainReadError(error, lines)
      }
    },
    handle,
    fractionRead: () => (size > 0 ? lastReading.position / size : undefined),
    close: () => handle.close(),
  }
}

const gzipStart = Buffer.from([0x1f, 0x8b])

function explainReadError(error: unknown, lines: number): never {
  if (error instanceof ImportError || !(error instanceof Error)) throw error
  const isDamaged = 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
  throw new ImportError(
    isDamaged
      ? `The gzip is damaged or cut short (${error.message}); ${lines} lines of it were read. ` +
          'Create or download the file again.'
      : `The file cannot be read: ${error.message}`,
    { cause: error },
  )
}

const lineFeed = 0x0a

export function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}
