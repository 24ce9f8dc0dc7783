// Files of products that cannot be imported: each gets one clear error, and changes nothing.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { csvFile, readImportError } from './import-files.ts'

const database = await testDatabase(t)
const maxMessageLength = 2_000

type InvalidFile = { content: string | Buffer; message: RegExp }

const products = 'sku,name,price,currency\n'
const valid = `${products}A,Tubo,1.50,EUR\n`

/** Files of products, by what is wrong with them. */
const invalidFiles: Record<string, InvalidFile> = {
  // Encodings and other kinds of files
  'is empty': { content: '', message: /^The file is empty: it does not even have a header\.$/ },
  'has blank lines only': { content: '\r\n \r\n\t\r\n', message: /^The file is empty/ },
  'has a byte order mark only': { content: '\ufeff', message: /^The file is empty/ },
  'is UTF-8 with one damaged character': {
    content: Buffer.concat([Buffer.from('sku,name\nA,ñáé\nB,'), Buffer.from([0xc3, 0x0a])]),
    message: /^Line 3 is not UTF-8, but line 2 is/,
  },
  'is UTF-16 without a mark': {
    content: Buffer.from(valid, 'utf16le'),
    message: /^Line 1 has a NUL byte.*may be UTF-16/,
  },
  'has a NUL byte': {
    content: 'sku,name\nA,Tubo\nB,Co\0do\n',
    message: /^Line 3 has a NUL byte: this is not plain text/,
  },
  'is an old workbook': {
    content: Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    message: /old Excel workbook \(\.xls\)/,
  },
  'is a PDF': { content: '%PDF-1.7\n…', message: /^The file is a PDF, not CSV/ },
  'is a page of HTML': {
    content: '<!DOCTYPE html>\n<html><body>Session expired</body></html>\n',
    message: /Line 1, the header, has unknown columns: "<!DOCTYPE html>"/,
  },
  'is JSON': {
    content: '[{sku: 1, name: 2}]\n',
    message: /has unknown columns: "\[\{sku: 1", "name: 2\}\]"/,
  },
  'is a JSON array': {
    content: '[\n  {"sku": "A", "name": "Tubo"}\n]\n',
    message: /^The file is a JSON array\. Write JSON lines: one object a line/,
  },
  'is gzip in gzip': {
    content: gzipSync(gzipSync(valid)),
    message: /NUL byte|is not UTF-8/,
  },

  // Headers
  'has no header': {
    content: 'A,Tubo,1.50,EUR\n',
    message: /unknown columns: "A", "Tubo".* None is known\. The first row must name the columns/,
  },
  'has a column twice': {
    content: 'sku,name,name\nA,Tubo,Codo\n',
    message: /^Line 1, the header, has the column name twice: "name" and "name"\. Remove or/,
  },
  'has a column without a name': {
    content: 'sku,,name\nA,x,Tubo\n',
    message: /unknown columns: \(a column without a name\)/,
  },
  'has an unknown column': {
    content: 'sku,name,colour\nA,Tubo,red\n',
    message: /^Line 1, the header, has unknown columns: "colour"\. /,
  },
  'has an unknown column, with the known ones in the error': {
    content: 'sku,name,colour\nA,Tubo,red\n',
    message:
      /--map "colour=COLUMN", .*--ignore-unknown\. Known columns: sku, name, description, .*, active\.$/,
  },
  'has no SKU': {
    content: '\nname,brand\nTubo,Ejemplo\n',
    message: /^Line 2, the header, lacks required columns: sku\. /,
  },
  'has a thousand columns': {
    content: `${Array.from({ length: 1_000 }, (_, index) => `c${index}`).join(',')}\n`,
    message: /^Line 1, the header, has unknown columns: "c0", .*"c19" and 980 more\./,
  },
  'has carriage returns only': { content: 'sku,name\rA,Tubo\r', message: /bare carriage return/ },

  // Rows
  'lacks a quotation mark': {
    content: 'sku,name\nA,Tubo\n"B,Codo\nC,Te\n',
    message: /row that begins on line 3 opens a quotation mark that is never closed/,
  },
  'has a quotation mark within a cell': {
    content: 'sku,name\n"A\n2",Tubo\nB,Tubo 5" largo\n',
    message: /row that begins on line 4 has a quotation mark in the middle of a cell/,
  },
  'has a text as a formula': {
    content: 'sku,name\n="00123",Tubo\n',
    message: /row that begins on line 2 has a cell such as ="00123", which a spreadsheet uses/,
  },
  'has text after a quotation mark': {
    content: 'sku,name\nA,"Tubo"s\n',
    message: /row that begins on line 2 has a quotation mark in the middle/,
  },
  'has a row without an end': {
    content: `sku,name\nA,"${'x\n'.repeat(600_000)}`,
    message: /row that begins on line 2 (is longer than|opens a quotation mark)/,
  },
  'has a cell of 10 MB': {
    content: `sku,name\nA,"${'x'.repeat(10_000_000)}"\n`,
    message: /row that begins on line 2 is longer than 1000000 characters/,
  },
  'has a cell too many': {
    content: `${products}A,Tubo, largo,1.50,EUR\n`,
    message: /line 2: has 5 cells, but the header has 4: a cell with a comma must be in quotation/,
  },
  'has a SKU twice': {
    content: `${valid}A,Codo,1,EUR\n`,
    message: /line 2: sku: is also on line 3\n {2}line 3: sku: is also on line 2/,
  },

  // Cells
  'has a formula for a price': {
    content: `${products}A,Tubo,=B2*1.21,EUR\n`,
    message: /line 2: price: "=B2\*1\.21" is a formula: save the values, not the formulas/,
  },
  'has an error of a formula': {
    content: `${products}A,Tubo,#REF!,EUR\n`,
    message: /line 2: price: "#REF!" is an error of a spreadsheet: correct its formula/,
  },
  'has a number with an exponent': {
    content: `${products}A,Tubo,1.5E+03,EUR\n`,
    message: /price: "1\.5E\+03" is not a number with a decimal point/,
  },
  'has a price without a currency': {
    content: `${products}A,Tubo,1.50,\n`,
    message: /line 2: currency: is missing: a price needs its currency/,
  },
  'has a name that is too long': {
    content: `sku,name\nA,${'x'.repeat(501)}\n`,
    message: /line 2: name: has 501 characters: at most 500 are allowed/,
  },
}

t.test('each invalid file gets one clear error', async (t) => {
  await importProducts(database.pool, csvFile('sku,name\nA,Hammer\n'))
  for (const [name, { content, message }] of Object.entries(invalidFiles)) {
    const error = await readImportError(t, database, content)
    t.match(error, message, `a file that ${name}`)
    t.ok(error.length < maxMessageLength, `the error of a file that ${name} is short`)
  }
})
