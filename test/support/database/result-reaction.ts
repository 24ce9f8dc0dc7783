// Lets a test act when the database has returned a certain result: fail the query, or wait.
import type { KyselyPlugin, UnknownRow } from 'kysely'

/**
 * Returns a plugin that calls `react`, with the number of such results so far, before it passes on
 * a result that matches. What `react` throws is the error of the query. The test fails at its end
 * if no result matched, for example because a column has another name now.
 */
export function reactToResults(
  t: { teardown(fn: () => unknown): void },
  isMatch: (rows: UnknownRow[]) => boolean,
  react: (count: number) => unknown,
): KyselyPlugin {
  let count = 0
  t.teardown(() => {
    if (count > 0) return
    // Later, because an error here would prevent the other teardowns of the test.
    setImmediate(() => {
      throw new Error(`No result of the database matched ${isMatch}.`)
    })
  })
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (isMatch(result.rows)) await react(++count)
      return result
    },
  }
}

/** Returns whether a result has this column. */
export const hasColumn = (column: string) => (rows: UnknownRow[]) =>
  rows.some((row) => column in row)
