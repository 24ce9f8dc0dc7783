// Writes src/stats/summary/summary-query.sql: what summary-query.ts makes of two typical requests.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import type { Tables } from '../src/database/table-types.ts'
import { queryDays, queryTotals } from '../src/stats/summary/summary-query.ts'
import { runCommand } from './cli/command.ts'
import { wrapLines } from './format-sql.ts'

const help = `
Usage: node scripts/stats-sql.ts [--check]

Writes src/stats/summary/summary-query.sql. It needs no database.

  --check   write nothing, and exit with status 1 if the file is out of date
`

const file = join(import.meta.dirname, '../src/stats/summary/summary-query.sql')

const introduction = `-- The statements that PostgreSQL gets for two requests of 2026-11-21.
-- Written by \`node scripts/stats-sql.ts\`: do not edit it. summary-query.ts explains the steps.
-- The literals in where clauses and the digits of round() are parameters. A comment \`likewise\`
-- stands for further columns of the same form. \`1 = 1\` means that no country and no currency is
-- asked for.
`

/** Creates queries for PostgreSQL. Cannot execute any. */
const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** Returns the whole text of summary-query.sql. */
export function describeStatements(): string {
  const request = { date: 'issued', today: '2026-11-21' } as const
  const year = { from: '2026-01-01', to: '2026-10-20' }
  const month = { from: '2026-10-01', to: '2026-10-31' }
  const totals = queryTotals(db, request, year, 2)
  const days = queryDays(db, { ...request, country: 'ES' }, month, 2)
  return [
    introduction,
    '-- GET /api/stats?from=2026-01-01&to=2026-10-20',
    '-- The year without the months after October and the last 11 days of October.\n',
    format(totals.compile()),
    '-- GET /api/stats?from=2026-10-01&to=2026-10-31&country=ES&by=day',
    '-- A second statement, for byDay.\n',
    format(days.compile()),
  ].join('\n')
}

/** Returns the statement with literals for its parameters, and each clause on a line of its own. */
function format({ sql, parameters }: CompiledQuery): string {
  const text = sql
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/"(\w+)"/g, '$1')
    .replaceAll(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1]))
  const lines = breakClauses(text).split('\n').map(shortenColumns)
  return `${wrapLines(lines.join('\n'))};\n`
}

const literal = (value: unknown) => (typeof value === 'number' ? String(value) : `'${value}'`)

const clause = /^(?:with|select|from|left join|where|group by|order by|union all) /

/** Begins a line with each clause, and indents queries in parentheses. */
function breakClauses(sql: string): string {
  /** For each open parenthesis, whether it encloses a query. */
  const parentheses: boolean[] = []
  const newLine = () => `\n${'  '.repeat(parentheses.filter(Boolean).length)}`
  let result = ''
  for (const [position, character] of [...sql].entries()) {
    const isInQuery = parentheses.at(-1) !== false
    const isWordStart = /[ (]/.test(sql[position - 1] ?? '')
    if (character === '(') parentheses.push(sql.startsWith('(select ', position))
    const endsQuery = character === ')' && parentheses.pop() === true
    const startsClause = isInQuery && isWordStart && clause.test(sql.slice(position))
    if (startsClause || endsQuery) result = result.trimEnd() + newLine()
    result += character
  }
  return result.replaceAll('\n), ', '\n),\n')
}

/**
 * Writes three or more columns that differ only in their names as the first one, and the names of
 * the others as a comment.
 */
function shortenColumns(line: string): string {
  const [, indent, list] = /^( *)select (.*)$/.exec(line) ?? []
  if (list === undefined) return line
  const runs: { shape: string; columns: string[] }[] = []
  for (const column of splitColumns(list)) {
    const words = column.split(/\b/)
    const shape = words.map((word) => (word === nameOf(column) ? '?' : word)).join('')
    const last = runs.at(-1)
    if (last?.shape === shape) last.columns.push(column)
    else runs.push({ shape, columns: [column] })
  }
  const lines = runs.map(({ shape, columns }, index) => {
    const comma = index === runs.length - 1 ? '' : ','
    const [first, ...others] = columns
    if (others.length < 2 || shape === '?') return columns.join(', ') + comma
    return `${first}${comma}\n${indent}  -- likewise ${others.map(nameOf).join(', ')}`
  })
  return [`${indent}select`, ...lines].join(`\n${indent}  `)
}

/** Returns the name of a column of a select list: its alias if it has one. */
const nameOf = (column: string) => /\w+$/.exec(column)?.[0] ?? column

/** Splits a list at the commas outside parentheses. */
function splitColumns(list: string): string[] {
  let depth = 0
  let columns = ['']
  for (const character of list) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === ',' && depth === 0) columns = [...columns, '']
    else columns[columns.length - 1] += character
  }
  return columns.map((column) => column.trim())
}

if (import.meta.main) {
  await runCommand(help, { check: { type: 'boolean', default: false } }, async ({ check }) => {
    const generated = describeStatements()
    if (!check) {
      writeFileSync(file, generated)
      return 0
    }
    if (readFileSync(file, 'utf8') === generated) return 0
    console.error('summary-query.sql is out of date: run `node scripts/stats-sql.ts`.')
    return 1
  })
}
