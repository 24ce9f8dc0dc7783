// The kinds of rules for cells: length, pattern, list of values. date-cells.ts, number-cells.ts,
// code-cells.ts and yes-no-cells.ts have the rules for cells with such values.
// The rules mirror the constraints of the schema, but report readable problems. They are checked
// while the file is read: in PostgreSQL the same checks took longer than the rest of an import.

/**
 * Returns the problem of a cell that is not empty, or undefined if it has none. `written` is the
 * cell as the file has it, for the message; `cell` is its plain form: 1234.5, 2026-12-31.
 */
export type CellCheck = (cell: string, written?: string) => string | undefined

/** Returns the plain form of a cell that a file writes in its own format, or its problem. */
export type CellReader = (cell: string) => { plain: string } | { problem: string }

export function checkLength(maxCharacters: number): CellCheck {
  return (cell) => {
    if (cell.length <= maxCharacters) return undefined
    // PostgreSQL counts code points, but String.length counts UTF-16 code units.
    const characters = [...cell].length
    return characters > maxCharacters
      ? `has ${characters} characters: at most ${maxCharacters} are allowed`
      : undefined
  }
}

/** Requires a match with `expression`; `problem` follows the quoted cell in the message. */
export function checkPattern(expression: RegExp, problem: string): CellCheck {
  return (cell) => (expression.test(cell) ? undefined : `${quoteForMessage(cell)} ${problem}`)
}

/** Requires one of `values`; `problem` replaces the list of values in the message. */
export function checkOneOf(values: Iterable<string>, problem?: string): CellCheck {
  const allowed = new Set(values)
  return (cell) =>
    allowed.has(cell)
      ? undefined
      : `${quoteForMessage(cell)} ${problem ?? `is not one of ${[...allowed].join(', ')}`}`
}

/** A longer cell is cut in a message. */
export const maxQuotedCharacters = 60

/** Returns a cell for a message: in quotation marks, on one line, cut after 60 characters. */
export function quoteForMessage(cell: string): string {
  const line = cell.replace(/\s+/g, ' ')
  const isTooLong = line.length > maxQuotedCharacters
  return `"${isTooLong ? `${line.slice(0, maxQuotedCharacters)}…` : line}"`
}

/** Returns SQL that quotes a cell as `quoteForMessage` does, or gives the word empty for null. */
export function sqlQuoteForMessage(cell: string): string {
  const line = `regexp_replace(${cell}, '\\s+', ' ', 'g')`
  return `case when ${cell} is null then 'empty'
    when length(${line}) > ${maxQuotedCharacters}
      then '"' || left(${line}, ${maxQuotedCharacters}) || '…"'
    else '"' || ${line} || '"' end`
}
