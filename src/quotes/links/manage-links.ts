// Creates, lists and revokes quote links, and erases the documents of those closed long ago, which
// contain names and addresses of customers.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { type RegularTaskOptions, repeatRegularly } from '../../monitoring/regular-task.ts'
import { countNoun } from '../../text/count-noun.ts'
import type { Language } from '../../texts/languages.ts'
import { findUnprintableInDocument } from '../pdf/pdf-text.ts'
import { isCounted, type QuoteDocument } from '../schema.ts'
import { generateLinkToken, hashLinkToken, queryDocument } from './read-link.ts'

/**
 * When a new link expires: at a date, after a lifetime that begins at its creation by the clock of
 * the database, or never (null).
 */
export type LinkExpiry = Date | { lifetimeMs: number } | null

/** A link to create. Defaults: the newest version, no expiry, and the language of the quote. */
export type NewLink = {
  number: string
  version?: number
  expiry?: LinkExpiry
  language?: Language
  /** Rejects a quote with a probable mistake: one of findDocumentWarnings. */
  isStrict?: boolean
}

/** create_quote_share refused the link. The message gives the reason to the user. */
export class LinkRefusedError extends Error {}

// The SQLSTATEs that create_quote_share raises: TQ404 if the quote does not exist, and TQ409 if it
// cannot have a link, or not such a link.
const refusalCodes = ['TQ404', 'TQ409']

/** A created link. Its token cannot be read again, because the database stores only its hash. */
export type CreatedLink = {
  token: string
  id: string
  version: number
  expiresAt: Date | null
  /** Probable mistakes in the quote: "it has no lines". */
  warnings: string[]
}

export async function createQuoteLink(db: Kysely<Tables>, newLink: NewLink): Promise<string> {
  return (await insertQuoteLink(db, newLink)).token
}

/**
 * Creates a link and returns its token and id, the version of the quote that it shows, and its
 * expiry. Throws LinkRefusedError.
 */
export async function createQuoteLinkWithDetails(
  db: Kysely<Tables>,
  newLink: NewLink,
): Promise<CreatedLink> {
  // In one transaction, so that no link remains whose token nobody has.
  return db.transaction().execute(async (transaction) => {
    const link = await insertQuoteLink(transaction, newLink)
    const { rows } = await sql<Pick<CreatedLink, 'version' | 'expiresAt'>>`
      select version, expires_at as "expiresAt" from list_quote_shares(${newLink.number})
      where id = ${link.id}`.execute(transaction)
    const [listed] = rows
    if (!listed) throw new Error(`Link ${link.id} is not in the list of links.`)
    const documentJson = await queryDocument(transaction, link.token)
    const warnings = documentJson === null ? [] : findDocumentWarnings(documentJson)
    if (newLink.isStrict && warnings.length > 0)
      throw new LinkRefusedError(`--strict rejects it: ${warnings.join('; ')}`)
    return { ...link, ...listed, warnings }
  })
}

const maxNamedCharacters = 5

/**
 * Returns a sentence for each probable mistake in the document of a new link: what a customer would
 * notice before the company does.
 */
function findDocumentWarnings(documentJson: string): string[] {
  const document = JSON.parse(documentJson) as QuoteDocument
  const { totals, validUntil } = document
  const lines = document.lines.filter(isCounted)
  const warnings: string[] = []
  if (lines.length === 0) warnings.push('it has no lines')
  if (totals.gross.amount.startsWith('-'))
    warnings.push(`its total is below zero: ${totals.gross.amount} ${totals.gross.currency}`)
  if (validUntil === null) warnings.push('it is valid without end (valid_until is empty)')
  const withoutReason = lines.filter(({ taxRate, taxReason }) => taxRate === '0' && !taxReason)
  if (withoutReason.length > 0)
    warnings.push(
      `nothing says why line ${listPositions(withoutReason)} has 0 % tax (tax_reason is empty, and ` +
        'the countries do not decide it)',
    )
  const characters = findUnprintableInDocument(documentJson)
  if (characters.length > 0)
    warnings.push(`it has no PDF, because the fonts lack ${describeCharacters(characters)}`)
  return warnings
}

function listPositions(lines: QuoteDocument['lines']): string {
  const shown = lines.slice(0, maxNamedCharacters).map(({ position }) => position)
  return shown.join(', ') + (lines.length > shown.length ? ' …' : '')
}

/** Returns characters with their code points: "✍ (U+270D)". */
function describeCharacters(characters: string[]): string {
  const named = characters.slice(0, maxNamedCharacters).map((character) => {
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    return `${character} (U+${code})`
  })
  return named.join(', ') + (characters.length > named.length ? ' …' : '')
}

/** Freezes the document of a quote and inserts the link. Returns its token and id. */
async function insertQuoteLink(
  db: Kysely<Tables>,
  { number, version, expiry = null, language }: NewLink,
): Promise<Pick<CreatedLink, 'token' | 'id'>> {
  const token = generateLinkToken()
  // Both are null for a link that never expires. Then the sum in SQL is null too.
  const [expiresAt, lifetimeMs] =
    expiry instanceof Date ? [expiry, null] : [null, expiry?.lifetimeMs ?? null]
  try {
    const { rows } = await sql<{ id: string }>`
      select create_quote_share(
        ${number}, ${version ?? null}::integer, ${hashLinkToken(token)},
        coalesce(${expiresAt}::timestamptz,
          now() + ${lifetimeMs}::double precision * interval '1 ms'),
        ${language ?? null}) as id`.execute(db)
    const [row] = rows
    if (!row) throw new Error('create_quote_share returned no row.')
    return { token, id: row.id }
  } catch (error) {
    if (error instanceof Error && 'code' in error && refusalCodes.includes(String(error.code)))
      throw new LinkRefusedError(error.message, { cause: error })
    throw error
  }
}

export type ListedLink = {
  id: string
  version: number
  createdAt: Date
  expiresAt: Date | null
  /** By the clock of the database. */
  isExpired: boolean
  revokedAt: Date | null
  /** Whether the document was erased, SHARE_RETENTION_DAYS after the link was closed. */
  isErased: boolean
  /** How often its page, JSON or PDF was opened, as far as view-counter.ts counted it. */
  views: number
  lastViewedAt: Date | null
}

export async function listQuoteLinks(
  db: Kysely<Tables>,
  quoteNumber: string,
): Promise<ListedLink[]> {
  const { rows } = await sql<ListedLink>`
    select id, version, created_at as "createdAt", expires_at as "expiresAt",
      coalesce(expires_at <= now(), false) as "isExpired", revoked_at as "revokedAt",
      is_erased as "isErased", views, last_viewed_at as "lastViewedAt"
    from list_quote_shares(${quoteNumber})
  `.execute(db)
  return rows
}

/**
 * Revokes a link immediately. `id` is its id in the list of links.
 * Returns false if the link does not exist or was revoked before.
 */
export async function revokeQuoteLink(db: Kysely<Tables>, id: string): Promise<boolean> {
  const { rows } = await sql<{ isRevokedNow: boolean }>`
    select revoke_quote_share(${id}) as "isRevokedNow"
  `.execute(db)
  return rows[0]?.isRevokedNow ?? false
}

/**
 * Revokes all open links of a quote, or of one version of it, immediately. Returns their number.
 */
export async function revokeAllLinksOfQuote(
  db: Kysely<Tables>,
  quoteNumber: string,
  version?: number,
): Promise<number> {
  const { rows } = await sql<{ revoked: number }>`
    select revoke_quote_shares(${quoteNumber}, ${version ?? null}::integer) as revoked
  `.execute(db)
  return rows[0]?.revoked ?? 0
}

/**
 * Records the maximum number of lines in a linked quote, and the days after which the document of
 * an expired or revoked link is erased. The settings have one row, which a migration has inserted.
 */
export async function recordLinkSettings(
  db: Kysely<Tables>,
  { maxLines, retentionDays }: { maxLines: number; retentionDays: number },
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('quote_share_settings')
    .set({ max_lines: maxLines, retention_days: retentionDays })
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw new Error('quote_share_settings must have exactly one row.')
}

// Documents stay for more than a year, so an hour more does not matter.
const erasureMs = 3_600_000

const batchSize = 500

/**
 * Erases the documents of links that expired or were revoked longer ago than the retention time
 * (`retention_days` in quote_share_settings). Also deletes views older than that. The links, their
 * hashes and dates stay. Works in batches. Returns the number of erased documents.
 */
export async function eraseDocumentsOfClosedLinks(
  db: Kysely<Tables>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const { rows } = await sql<{ erased: number }>`
      select purge_quote_shares(${batchSize}) as erased
    `.execute(db)
    const erased = rows[0]?.erased ?? 0
    total += erased
    if (erased < batchSize || signal?.aborted) return total
  }
}

/**
 * Erases documents immediately and then at intervals of `erasureMs`, until `signal`
 * is aborted. Logs failures.
 */
export async function eraseDocumentsRegularly(
  db: Kysely<Tables>,
  options: RegularTaskOptions,
): Promise<void> {
  const { signal, log } = options
  const erase = async () => {
    const erased = await eraseDocumentsOfClosedLinks(db, signal)
    if (erased > 0) log(`Erased ${countNoun(erased, 'document')} of links closed long ago.`)
  }
  await repeatRegularly(erase, {
    ...options,
    intervalMs: erasureMs,
    failure: 'Could not erase documents of closed links',
  })
}
