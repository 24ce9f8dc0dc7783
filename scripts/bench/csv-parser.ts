// Compares the speed of our CSV parser with csv-parse on generated quote lines.
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse'
import { parseCsv } from '../../src/imports/readers/csv-parser.ts'
import { type Bench, elapsedMs, median, reportRatio } from './harness.ts'

const chunkLength = 64 * 1024

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

export async function measure(bench: Bench): Promise<void> {
  const lines = bench.size(300_000, 3_000)
  for (const [kind, writeText] of Object.entries({
    'plain cells': (cell: string) => cell,
    'quoted cells': (cell: string) => `"${cell}, ""new"""`,
  })) {
    const text = quoteLines(lines, writeText)
    const chunks = text.match(new RegExp(`[^]{1,${chunkLength}}`, 'g')) ?? []
    const rates = { ours: [] as number[], 'csv-parse': [] as number[] }
    for (let round = 0; round < bench.size(5, 1); round++)
      for (const name of ['ours', 'csv-parse'] as const) {
        let rows = 0
        const ms = await elapsedMs(async () => (rows = await parsers[name](chunks)))
        if (rows !== lines) throw new Error(`${name} read ${rows} rows instead of ${lines}`)
        rates[name].push(lines / (ms / 1_000))
      }
    reportRatio(
      bench,
      `lines of ${kind}, of csv-parse`,
      [median(rates.ours), median(rates['csv-parse'])],
      { atLeast: 1.5 },
    )
  }
}

/** Lines with 20 cells as in a quote file. `writeText` writes the cells that hold free text. */
function quoteLines(count: number, writeText: (cell: string) => string): string {
  let text = ''
  for (let line = 0; line < count; line++) {
    const quote = Math.floor(line / 10)
    text += `Q-${quote},1,accepted,2025-03-0${1 + (quote % 9)},2030-01-31,2025-03-20,`
    text += `${writeText(`Ferretería ${quote % 5_000}`)},B${10_000_000 + quote},ES,EUR,1,FCA,`
    text += `${writeText('10 days after the order')},${1 + (line % 10)},SKU-${line % 4_000},`
    text += `${writeText(`Product ${line % 4_000}`)},${1 + (line % 500)},C62,12.5000,21\n`
  }
  return text
}
