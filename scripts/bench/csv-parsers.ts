// Compares the speed of our CSV parser with csv-parse on generated quote lines.
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse'
import { parseCsv } from '../../src/imports/readers/csv-parser.ts'
import { runCommand } from '../cli/command.ts'
import { median } from './support/load/quantile.ts'

const help = `
Usage: node scripts/bench/csv-parsers.ts [--rounds N]

Parses the same 300,000 generated quote lines with src/imports/readers/csv-parser.ts and with csv-parse,
once as plain cells and once with cells in quotation marks. The parsers alternate. Prints the lines
per second of each parser (median of the rounds) and the ratio.

  --rounds  how often each parser reads each text. Default: 5
`

const lineCount = 300_000
const chunkLength = 64 * 1024

const texts = {
  'plain cells': quoteLines((cell) => cell),
  'quoted cells': quoteLines((cell) => `"${cell}, ""new"""`),
}

const parsers = {
  ours: async (chunks: string[]) => {
    let rows = 0
    for await (const batch of parseCsv(Readable.from(chunks))) rows += batch.length
    return rows
  },
  'csv-parse': async (chunks: string[]) => {
    // `info` gives the line of each row. The data event is faster than iterating over the parser.
    const parser = parse({ trim: true, info: true, relax_column_count: true })
    let rows = 0
    parser.on('data', () => rows++)
    await pipeline(Readable.from(chunks), parser)
    return rows
  },
}

type ParserName = keyof typeof parsers

await runCommand(help, { rounds: { type: 'string', default: '5' } }, async ({ rounds }) => {
  for (const [kind, text] of Object.entries(texts)) {
    const rates = await measure(text, Number(rounds))
    const ratio = rates.ours / rates['csv-parse']
    console.log(
      `${kind}: ours ${format(rates.ours)} lines/s, ` +
        `csv-parse ${format(rates['csv-parse'])} lines/s, ratio ${ratio.toFixed(1)}`,
    )
  }
  return 0
})

/** Returns the lines per second of each parser, the median of `rounds` alternating runs. */
async function measure(text: string, rounds: number): Promise<Record<ParserName, number>> {
  const chunks = text.match(new RegExp(`[^]{1,${chunkLength}}`, 'g')) ?? []
  const rates: Record<ParserName, number[]> = { ours: [], 'csv-parse': [] }
  for (let round = 0; round < rounds; round++) {
    for (const name of ['ours', 'csv-parse'] as const) {
      const startedAt = performance.now()
      const rows = await parsers[name](chunks)
      if (rows !== lineCount) throw new Error(`${name} read ${rows} rows instead of ${lineCount}`)
      rates[name].push(lineCount / ((performance.now() - startedAt) / 1000))
    }
  }
  return { ours: median(rates.ours), 'csv-parse': median(rates['csv-parse']) }
}

/** Lines with 20 cells as in a quote file; `writeText` writes the cells that hold free text. */
function quoteLines(writeText: (cell: string) => string): string {
  let text = ''
  for (let line = 0; line < lineCount; line++) {
    const quote = Math.floor(line / 10)
    text += `Q-${quote},1,accepted,2025-03-0${1 + (quote % 9)},2030-01-31,2025-03-20,`
    text += `${writeText(`Ferretería ${quote % 5_000}`)},B${10_000_000 + quote},ES,EUR,1,FCA,`
    text += `${writeText('10 days after the order')},${1 + (line % 10)},SKU-${line % 4_000},`
    text += `${writeText(`Product ${line % 4_000}`)},${1 + (line % 500)},C62,12.5000,21\n`
  }
  return text
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}
