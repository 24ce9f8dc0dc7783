// What the actions of scripts/share.ts need: the database, the settings of links, and how to print.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { getPublicBaseUrl, readShareConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { quoteLinkBase } from '../../src/http/endpoint-paths.ts'

export type ShareContext = {
  db: Database
  /** Everything in a link before its token. */
  linkPrefix: string
  /** Whether PUBLIC_BASE_URL is set. */
  isBaseUrlSet: boolean
  countsViews: boolean
  /** Whether to print JSON objects instead of text. */
  isJson: boolean
}

/** Runs an action of the script with a connection to the database. Returns its exit status. */
export async function withShareContext(
  isJson: boolean,
  act: (context: ShareContext) => Promise<number>,
): Promise<number> {
  const config = readShareConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    return await act({
      db,
      linkPrefix: `${getPublicBaseUrl(config)}${quoteLinkBase}/`,
      isBaseUrlSet: config.PUBLIC_BASE_URL !== undefined,
      countsViews: config.COUNT_VIEWS,
      isJson,
    })
  } finally {
    await db.destroy()
  }
}

const byteOrderMark = /^\ufeff/

/** Yields the lines of a file that are not blank, trimmed. - is standard input. */
export async function* readLines(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  for await (const line of createInterface({ input })) {
    const text = line.replace(byteOrderMark, '').trim()
    if (text !== '') yield text
  }
}
