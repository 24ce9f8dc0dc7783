// Returns the row of a query that always has one.

/** Returns the first row. Throws if there is none, which means that the query is wrong. */
export function requireFirstRow<Row>({ rows }: { rows: Row[] }): Row {
  const [row] = rows
  if (row === undefined) throw new Error('The query returned no row, but must always return one')
  return row
}
