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
    read: () => unzip(Readable.from(readChunks()), isGzip),
    handle,
    fractionRead: () => (size > 0 ? lastReading.position / size : undefined),
    close: () => handle.close(),
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

/** Yields `first` unless it is empty, and then the others. */
async function* prepend(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* others
}

const lineFeed = 0x0a

export function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}
