// Breaks long lines of SQL for reading.

const maxColumns = 100

/** A literal, a quoted identifier or a comment: text whose letters and spaces must stay. */
const verbatim = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*/g

/**
 * Breaks lines longer than 100 columns at a space outside literals, after a comma if possible, and
 * indents what follows by two more columns. A comment is continued as a comment.
 */
export function wrapLines(sql: string): string {
  return sql
    .split('\n')
    .flatMap((line) => wrapLine(line, '  '))
    .join('\n')
}

function wrapLine(line: string, continuationIndent: string): string[] {
  if (line.length <= maxColumns) return [line]
  const indent = line.slice(0, line.length - line.trimStart().length)
  const isComment = line.startsWith('--', indent.length)
  const end = isComment ? line.lastIndexOf(' ', maxColumns) : findBreakPosition(line)
  if (end <= indent.length) return [line]
  const prefix = isComment ? '-- ' : continuationIndent
  const rest = `${indent}${prefix}${line.slice(end).trim()}`
  return [line.slice(0, end).trimEnd(), ...wrapLine(rest, '')]
}

/**
 * Returns the position of the space at which to break a line, or -1. Prefers a space in few nested
 * parentheses, then one after a comma or before a keyword, then the last one.
 */
function findBreakPosition(line: string): number {
  const withoutLiterals = line.replace(verbatim, (text) => '_'.repeat(text.length))
  let best = { position: -1, cost: Number.POSITIVE_INFINITY }
  let depth = 0
  for (let position = 0; position <= maxColumns; position++) {
    const character = withoutLiterals[position]
    if (character === '(') depth++
    if (character === ')') depth--
    if (character !== ' ' || position < minColumns) continue
    const isClauseStart =
      withoutLiterals[position - 1] === ',' || startsClause.test(withoutLiterals.slice(position))
    const cost = 2 * depth + (isClauseStart ? 0 : 1)
    if (cost <= best.cost) best = { position, cost }
  }
  return best.position
}

/** A broken line has at least this length. */
const minColumns = 36

const clauseKeywords = [
  ...['and', 'or', 'as', 'case', 'cross', 'else', 'end', 'execute', 'for', 'from', 'group'],
  ...['join', 'left', 'on', 'references', 'select', 'stored', 'then', 'union', 'using', 'values'],
  ...['when', 'where'],
]
const startsClause = new RegExp(`^ (${clauseKeywords.join('|')})\\b`)
