// Reads a sheet of an Excel workbook (.xlsx) as rows, part by part. A workbook is a ZIP of XML
// files (ECMA-376, part 1, chapter 18). Limits protect from ZIP bombs, and XML with a DOCTYPE,
// which could define entities, is rejected.
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl'
import { quoteForMessage } from '../cells.ts'
import { ImportError } from '../file-format.ts'
import { maxRowCharacters, type RawTable, type Row, takeHeader } from './csv-parser.ts'
import type { FileSource } from './file-source.ts'

/** A sheet of repeated cells is compressed by a factor of 30, and a ZIP bomb by 1,000. */
const maxCompressionRatio = 200
const minBytesOfBomb = 1_000_000
/** The texts of all cells are kept in memory. */
const maxSharedTextBytes = 200_000_000
const maxFilesOfWorkbook = 10_000
const maxColumns = 16_384

/** Opens the sheet with this name, or the first visible one. Throws an ImportError. */
export async function openXlsx(
  source: FileSource,
  sheetName: string | undefined,
): Promise<RawTable> {
  const zip = await fromFdPromise(source.handle.fd, { autoClose: false }).catch(explainDamage)
  const workbook = new Workbook(zip, await listEntries(zip).catch(explainDamage))
  const sheet = await workbook.findSheet(sheetName)
  const texts = await workbook.readSharedTexts()
  const formats = await workbook.readCellFormats()
  const table = await takeHeader(() => workbook.readRows(sheet.path, texts, formats))
  if (!table)
    throw new ImportError(
      `The sheet ${quoteForMessage(sheet.name)} is empty. Name one with --sheet.`,
    )
  return { ...table, words: [`sheet ${quoteForMessage(sheet.name)} of a workbook`] }
}

async function listEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    entries.set(entry.fileName, entry)
    if (entries.size > maxFilesOfWorkbook)
      throw new ImportError('The workbook has more files than a workbook can have.')
  }
  if (entries.has('xl/workbook.xml')) return entries
  throw new ImportError(
    'The file is a ZIP, but not an Excel workbook (.xlsx). Save it as .xlsx or as CSV.',
  )
}

function explainDamage(error: unknown): never {
  if (error instanceof ImportError) throw error
  const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
  throw new ImportError(`The workbook is damaged (${reason}). Save it again.`, { cause: error })
}

type CellFormat = 'date' | 'percentage' | undefined
type CellFormats = { byStyle: CellFormat[]; isFrom1904: boolean }

/** What the reader of XML calls. Names have no prefix. */
type XmlHandlers = {
  open?(name: string, attributes: Record<string, string>): void
  text?(text: string): void
  close?(name: string): void
}

class Workbook {
  readonly #zip: ZipFile
  readonly #entries: Map<string, Entry>
  #isFrom1904 = false

  constructor(zip: ZipFile, entries: Map<string, Entry>) {
    this.#zip = zip
    this.#entries = entries
  }

  async findSheet(name: string | undefined): Promise<{ name: string; path: string }> {
    const sheets: { name: string; id: string; isVisible: boolean }[] = []
    await this.#readAll('xl/workbook.xml', {
      open: (tag, attributes) => {
        if (tag === 'workbookPr') this.#isFrom1904 = isTrue(attributes.date1904)
        if (tag !== 'sheet') return
        const id = Object.entries(attributes).find(([key]) => /^(\w+:)?id$/.test(key))?.[1] ?? ''
        const isVisible = (attributes.state ?? 'visible') === 'visible'
        sheets.push({ name: attributes.name ?? '', id, isVisible })
      },
    })
    const targets = new Map<string, string>()
    await this.#readAll('xl/_rels/workbook.xml.rels', {
      open: (_, { Id = '', Target = '' }) => targets.set(Id, Target),
    })
    const sheet = sheets.find((sheet) =>
      name === undefined ? sheet.isVisible : sheet.name === name,
    )
    const target = targets.get(sheet?.id ?? '')
    if (!sheet || target === undefined)
      throw new ImportError(
        `The workbook has no ${name === undefined ? 'visible sheet' : `sheet ${quoteForMessage(name)}`}. ` +
          `It has ${sheets.map((sheet) => quoteForMessage(sheet.name)).join(', ')}.`,
      )
    return { name: sheet.name, path: target.startsWith('/') ? target.slice(1) : `xl/${target}` }
  }

  /** Returns the texts that cells refer to by their number. */
  async readSharedTexts(): Promise<string[]> {
    const path = 'xl/sharedStrings.xml'
    const entry = this.#entries.get(path)
    if (!entry) return []
    if (entry.uncompressedSize > maxSharedTextBytes)
      throw new ImportError('The workbook has more texts than fit into memory. Save it as CSV.')
    const texts: string[] = []
    let text = ''
    let depth = { isText: false, isPhonetic: false }
    await this.#readAll(path, {
      open(name) {
        if (name === 'si') text = ''
        if (name === 't') depth.isText = true
        if (name === 'rPh') depth.isPhonetic = true
      },
      text(part) {
        if (depth.isText && !depth.isPhonetic) text += part
      },
      close(name) {
        if (name === 't') depth.isText = false
        if (name === 'rPh') depth.isPhonetic = false
        if (name !== 'si') return
        texts.push(text.trim())
        depth = { isText: false, isPhonetic: false }
      },
    })
    return texts
  }

  /** Returns which styles of cells show dates or percentages. */
  async readCellFormats(): Promise<CellFormats> {
    const byStyle: CellFormat[] = []
    const codes = new Map<number, string>()
    let isInCells = false
    const path = 'xl/styles.xml'
    if (this.#entries.has(path))
      await this.#readAll(path, {
        open: (name, { numFmtId, formatCode = '' }) => {
          if (name === 'numFmt') codes.set(Number(numFmtId), formatCode)
          if (name === 'cellXfs') isInCells = true
          if (name === 'xf' && isInCells)
            byStyle.push(classifyFormat(Number(numFmtId ?? 0), codes.get(Number(numFmtId ?? 0))))
        },
        close: (name) => {
          if (name === 'cellXfs') isInCells = false
        },
      })
    return { byStyle, isFrom1904: this.#isFrom1904 }
  }

  /** Yields the rows that are not blank, each with the number that Excel shows for it. */
  async *readRows(
    path: string,
    texts: string[],
    { byStyle, isFrom1904 }: CellFormats,
  ): AsyncGenerator<Row[]> {
    let batch: Row[] = []
    let row: Required<Omit<Row, 'isCut'>> = { line: 0, cells: [], typed: [] }
    let column = 0
    let cell = { type: 'n', style: 0, value: '', formula: '', part: '' }
    const finishCell = () => {
      const { type, value, style, formula } = cell
      let text = value.trim()
      let isTyped = false
      if (text === '' && formula !== '') text = `=${formula}`
      else if (type === 's') text = texts[Number(text)] ?? ''
      else if (type === 'b') text = text === '1' ? 'true' : 'false'
      else if (type === 'd') [text, isTyped] = [text.replace(/T00:00(:00)?(\.0+)?Z?$/, ''), true]
      else if (type === 'n' && text !== '') {
        const format = byStyle[style]
        text = format === 'date' ? toDate(Number(text), isFrom1904) : toPlainNumber(text, format)
        isTyped = true
      }
      while (row.cells.length < column) row.cells.push('')
      row.cells[column] = text
      if (isTyped) row.typed[column] = true
    }
    const handlers: XmlHandlers = {
      open(name, attributes) {
        if (name === 'row') {
          row = { line: Number(attributes.r ?? row.line + 1), cells: [], typed: [] }
          column = -1
        } else if (name === 'c') {
          column = attributes.r ? toColumnIndex(attributes.r) : column + 1
          if (column >= maxColumns) throw new ImportError(`Row ${row.line} has too many columns.`)
          const { t: type = 'n', s: style = '0' } = attributes
          cell = { type, style: Number(style), value: '', formula: '', part: '' }
        } else cell.part = name
      },
      text(text) {
        if (cell.part === 'v' || cell.part === 't') cell.value += text
        else if (cell.part === 'f') cell.formula += text
        if (cell.value.length > maxRowCharacters)
          throw new ImportError(`A cell of row ${row.line} is too long.`)
      },
      close(name) {
        if (name === 'c') finishCell()
        else if (name === 'row' && row.cells.some((text) => text !== '')) batch.push(row)
        else cell.part = ''
      },
    }
    for await (const _ of this.#read(path, handlers)) {
      if (batch.length === 0) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }

  async #readAll(path: string, handlers: XmlHandlers): Promise<void> {
    for await (const _ of this.#read(path, handlers));
  }

  /** Reads a file of XML, and yields after each part of it. */
  async *#read(path: string, handlers: XmlHandlers): AsyncGenerator<void> {
    const entry = this.#entries.get(path)
    if (!entry) throw new ImportError(`The workbook is damaged: it lacks ${path}. Save it again.`)
    const { compressedSize, uncompressedSize } = entry
    if (
      uncompressedSize > minBytesOfBomb &&
      uncompressedSize > maxCompressionRatio * compressedSize
    )
      throw new ImportError(
        `The workbook unpacks to ${Math.round(uncompressedSize / 1e6)} MB from ` +
          `${Math.ceil(compressedSize / 1e3)} kB, which no real sheet does. Save it again, or as CSV.`,
      )
    const parser = createParser(handlers)
    try {
      const stream = await this.#zip.openReadStreamPromise(entry)
      for await (const text of stream.setEncoding('utf8')) {
        parser.write(text)
        yield
      }
      parser.close()
    } catch (error) {
      explainDamage(error)
    }
  }
}

function createParser({ open, text, close }: XmlHandlers): SaxesParser {
  const parser = new SaxesParser()
  const withoutPrefix = (name: string) => name.slice(name.indexOf(':') + 1)
  parser.on('doctype', () => {
    throw new ImportError('The workbook has a DOCTYPE in its XML, which Excel never writes.')
  })
  parser.on('error', (error) => {
    throw error
  })
  if (open)
    parser.on('opentag', ({ name, attributes }: SaxesTagPlain) =>
      open(withoutPrefix(name), attributes),
    )
  if (text) parser.on('text', text)
  if (text) parser.on('cdata', text)
  if (close) parser.on('closetag', ({ name }) => close(withoutPrefix(name)))
  return parser
}

const isTrue = (value: string | undefined) => value === '1' || value === 'true'

/** Returns the index of the column of a cell such as AB12, from 0. */
function toColumnIndex(reference: string): number {
  let index = 0
  for (const letter of reference) {
    const code = letter.charCodeAt(0)
    if (code < 65 || code > 90) break
    index = index * 26 + code - 64
  }
  return index - 1
}

/** The formats without a code of their own that show dates or times (ECMA-376, 18.8.30). */
const isDateFormat = (id: number) =>
  (id >= 14 && id <= 22) ||
  (id >= 27 && id <= 36) ||
  (id >= 45 && id <= 47) ||
  (id >= 50 && id <= 58)

function classifyFormat(id: number, code: string | undefined): CellFormat {
  if (code === undefined) {
    if (isDateFormat(id)) return 'date'
    return id === 9 || id === 10 ? 'percentage' : undefined
  }
  const signs = code.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '')
  if (signs.includes('%')) return 'percentage'
  return /[dmyhs]/i.test(signs) ? 'date' : undefined
}

/** Returns 2026-12-31 for the number of a day, with the time if it is not midnight. */
function toDate(serial: number, isFrom1904: boolean): string {
  // Excel takes 1900 for a leap year, so days before March 1900 are one more.
  const epoch = isFrom1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30)
  const date = new Date(epoch + Math.round(serial * 86_400) * 1_000)
  if (Number.isNaN(date.getTime())) return String(serial)
  return date.toISOString().replace('T', ' ').replace('.000Z', '').replace(' 00:00:00', '')
}

/**
 * Returns a number as Excel shows it, with at most 15 digits: the file may have 0.1 as
 * 0.10000000000000001. A percentage is stored as a fraction of 1.
 */
function toPlainNumber(text: string, format: CellFormat): string {
  if (format !== 'percentage' && /^-?\d{1,15}$/.test(text)) return text
  const number = Number(text) * (format === 'percentage' ? 100 : 1)
  if (!Number.isFinite(number)) return text
  const rounded = Number(number.toPrecision(15))
  const plain = String(rounded)
  return plain.includes('e-') ? rounded.toFixed(20).replace(/0+$/, '') : plain
}
