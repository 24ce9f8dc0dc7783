// Reads JSON lines: one object a line, whose keys are the columns.
import { ImportError } from '../file-format.ts'
import type { RawTable, Row } from './csv-parser.ts'
import type { FileSource } from './file-source.ts'
import { decodeText, detectEncoding } from './text-encoding.ts'

const maxLineCharacters = 1_000_000
/** A number as the file has it: JavaScript would round it. */
type Scalar = string | boolean | null | { digits: string }

/** Reads the whole file once for its keys. Throws an ImportError that names the line. */
export async function openJsonLines(source: FileSource): Promise<RawTable> {
  await detectEncoding(source.read(), 'utf-8')
  const columns = new Map<string, number>()
  for await (const batch of readObjects(source))
    for (const { object } of batch)
      for (const key of Object.keys(object)) if (!columns.has(key)) columns.set(key, columns.size)
  async function* rows(): AsyncGenerator<Row[]> {
    for await (const batch of readObjects(source))
      yield batch.map(({ line, object }) => toRow(line, object, columns))
  }
  return { header: { line: 1, cells: [...columns.keys()] }, rows, words: ['JSON lines'] }
}

function toRow(line: number, object: Record<string, unknown>, columns: Map<string, number>): Row {
  const cells: string[] = Array(columns.size).fill('')
  const typed: boolean[] = []
  for (const [key, value] of Object.entries(object)) {
    const index = columns.get(key) ?? 0
    const scalar = Array.isArray(value) ? value.map(toText).join(' | ') : (value as Scalar)
    cells[index] = toText(scalar).trim()
    typed[index] = isNumber(scalar)
  }
  return { line, cells, typed }

  function toText(value: Scalar): string {
    if (value === null) return ''
    if (isNumber(value)) return value.digits
    if (typeof value === 'object')
      throw new ImportError(
        `Line ${line} has an object in an object. Write one value for each key.`,
      )
    return String(value)
  }
}

const isNumber = (value: Scalar): value is { digits: string } =>
  value !== null && typeof value === 'object' && typeof value.digits === 'string'

type ParsedLine = { line: number; object: Record<string, unknown> }

async function* readObjects(source: FileSource): AsyncGenerator<ParsedLine[]> {
  let line = 0
  let rest = ''
  for await (const text of decodeText(source.read(), 'utf-8')) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLineCharacters)
      throw new ImportError(`Line ${line + lines.length + 1} is longer than a row may be.`)
    yield lines.flatMap((content) => parseLine(content, ++line))
  }
  yield parseLine(rest, ++line)
}

function parseLine(content: string, line: number): ParsedLine[] {
  if (content.trim() === '') return []
  let object: unknown
  try {
    object = JSON.parse(content, keepDigits)
  } catch (error) {
    throw new ImportError(`Line ${line} is not JSON: write one object a line.`, { cause: error })
  }
  if (typeof object === 'object' && object !== null && !Array.isArray(object))
    return [{ line, object: object as Record<string, unknown> }]
  throw new ImportError(`Line ${line} is not a JSON object: write one object a line.`)
}

function keepDigits(_: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value
  const { source = '' } = context ?? {}
  return { digits: /e/i.test(source) ? String(value) : source }
}
