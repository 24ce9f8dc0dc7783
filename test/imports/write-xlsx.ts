// Writes a small workbook, as Excel does or damaged on purpose.
import { crc32, deflateRawSync } from 'node:zlib'

/** A number and its style, a text in the cell itself, or a text that the workbook shares. */
export type XlsxCell = string | { value: string; style?: number; type?: string; formula?: string }

type WorkbookOptions = {
  sheets: Record<string, XlsxCell[][]>
  /** Files that replace those of the workbook, or are added. */
  files?: Record<string, string>
}

const escapeXml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;')
const xml = (content: string) => `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>${content}`
const columnName = (index: number): string =>
  index < 26
    ? String.fromCharCode(65 + index)
    : columnName(Math.floor(index / 26) - 1) + columnName(index % 26)

/** The styles: 0 plain, 1 a day, 2 a percentage, 3 a date with a code of its own. */
const styles = xml(
  '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy;@"/></numFmts>' +
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/></cellXfs></styleSheet>',
)

export function writeXlsx({ sheets, files = {} }: WorkbookOptions): Buffer {
  const texts: string[] = []
  const writeCell = (cell: XlsxCell, column: number, row: number) => {
    const place = `r="${columnName(column)}${row + 1}"`
    if (typeof cell === 'string') {
      if (cell === '') return ''
      texts.push(cell)
      return `<c ${place} t="s"><v>${texts.length - 1}</v></c>`
    }
    const { value, style = 0, type = 'n', formula } = cell
    if (type === 'inlineStr')
      return `<c ${place} t="inlineStr"><is><t>${escapeXml(value)}</t></is></c>`
    const f = formula === undefined ? '' : `<f>${escapeXml(formula)}</f>`
    return `<c ${place} s="${style}" t="${type}">${f}${value === '' ? '' : `<v>${escapeXml(value)}</v>`}</c>`
  }
  const names = Object.keys(sheets)
  const sheetFiles = Object.values(sheets).map((rows, index) => [
    `xl/worksheets/sheet${index + 1}.xml`,
    xml(
      `<worksheet><sheetData>${rows
        .map(
          (cells, row) =>
            `<row r="${row + 1}">${cells.map((cell, column) => writeCell(cell, column, row)).join('')}</row>`,
        )
        .join('')}</sheetData></worksheet>`,
    ),
  ])
  return zip({
    'xl/workbook.xml': xml(
      `<workbook xmlns:r="r"><sheets>${names
        .map(
          (name, index) =>
            `<sheet name="${escapeXml(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
        )
        .join('')}</sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': xml(
      `<Relationships>${names
        .map(
          (_, index) =>
            `<Relationship Id="rId${index + 1}" Target="worksheets/sheet${index + 1}.xml"/>`,
        )
        .join('')}</Relationships>`,
    ),
    'xl/styles.xml': styles,
    ...Object.fromEntries(sheetFiles),
    'xl/sharedStrings.xml': xml(
      `<sst>${texts.map((text) => `<si><t xml:space="preserve">${escapeXml(text)}</t></si>`).join('')}</sst>`,
    ),
    ...files,
  })
}

/** Writes a ZIP (APPNOTE 4.3). */
export function zip(files: Record<string, string>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text)
    const data = deflateRawSync(content)
    const header = Buffer.alloc(26)
    header.writeUInt16LE(20, 0)
    header.writeUInt16LE(8, 4)
    header.writeUInt32LE(crc32(content), 10)
    header.writeUInt32LE(data.length, 14)
    header.writeUInt32LE(content.length, 18)
    header.writeUInt16LE(Buffer.byteLength(name), 22)
    const central = Buffer.alloc(16)
    central.writeUInt32LE(offset, 12)
    const local = [Buffer.from('504b0304', 'hex'), header, Buffer.from(name), data]
    parts.push(...local)
    directory.push(
      Buffer.from('504b01021400', 'hex'),
      header,
      central.subarray(2),
      Buffer.from(name),
    )
    offset += local.reduce((sum, { length }) => sum + length, 0)
  }
  const end = Buffer.alloc(22)
  end.write('504b0506', 'hex')
  end.writeUInt16LE(Object.keys(files).length, 8)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}
