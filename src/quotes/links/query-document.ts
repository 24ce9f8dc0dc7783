// Queries the primary or a replica for the document of an open link, without verifying it.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { hashLinkToken } from './link-token.ts'
import type { OpenLink } from './read-link.ts'

/** Returns the document of a link. Returns null if the link is not open by the database's clock. */
export async function queryDocument(db: Kysely<Tables>, token: string): Promise<string | null> {
  const { rows } = await sql<{ document: string | null }>`
    select read_quote_share_document(${hashLinkToken(token)}) as document
  `.execute(db)
  return rows[0]?.document ?? null
}

/**
 * Returns the document of a link from a replica. Returns null if the row on the replica differs
 * from the row that was read from the primary, so an old document is never returned, however far
 * the replica is behind.
 */
export async function queryReplicatedDocument(
  replicaDb: Kysely<Tables>,
  token: string,
  { rowVersion }: OpenLink,
): Promise<string | null> {
  const tokenHash = hashLinkToken(token)
  const { rows } = await sql<{ document: string | null; row_version: string }>`
    select read_quote_share_document(${tokenHash}) as document, row_version
    from read_quote_share(${tokenHash})
  `.execute(replicaDb)
  const [row] = rows
  return row?.row_version === rowVersion ? row.document : null
}
