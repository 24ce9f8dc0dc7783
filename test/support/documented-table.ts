// Reads tables of docs/architecture.md, which tests execute row by row.
import { readFileSync } from 'node:fs'

const document = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')

/** Returns the cells of the rows of the table whose header begins with this cell. */
export function readDocumentedTable(firstHeader: string): string[][] {
  const lines = document.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${firstHeader} |`))
  if (start < 0) throw new Error(`There is no table "${firstHeader}".`)
  const rows = lines.slice(start + 2)
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

/** Returns the texts in backticks. */
export const readCode = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
