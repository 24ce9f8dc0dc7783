// What the actions of scripts/share.ts do: they create, list and revoke quote links.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { getPublicBaseUrl, readShareConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { quoteLinkBase } from '../../src/http/endpoint-paths.ts'
import { isLoopbackName } from '../../src/http/host-header.ts'
import {
  type CreatedLink,
  createQuoteLinkWithDetails,
  LinkRefusedError,
  type ListedLink,
  listQuoteLinks,
  type NewLink,
  revokeAllLinksOfQuote,
  revokeQuoteLink,
} from '../../src/quotes/links/manage-links.ts'
import { countNoun } from '../../src/text/count-noun.ts'
import { type CommandContext, parseWholeNumber } from './command.ts'

export type ShareContext = Pick<CommandContext, 'openInput' | 'printLine' | 'printError'> & {
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
  { env, ...command }: CommandContext,
  isJson: boolean,
  act: (context: ShareContext) => Promise<number>,
): Promise<number> {
  const config = readShareConfig(env)
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    return await act({
      ...command,
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
async function* readLines({ openInput }: ShareContext, file: string): AsyncGenerator<string> {
  const input = file === '-' ? openInput() : createReadStream(file)
  for await (const line of createInterface({ input })) {
    const text = line.replace(byteOrderMark, '').trim()
    if (text !== '') yield text
  }
}

/** The options that apply to every link that one call creates. */
export type LinkOptions = Omit<NewLink, 'number'>

/** The exit status of a program that SIGINT (signal 2) ends: 128 + 2. */
const interruptedStatus = 130

/** Creates and prints a link. Returns the exit status. */
export async function createOneLink(context: ShareContext, newLink: NewLink): Promise<number> {
  const { db, linkPrefix, isJson, printLine } = context
  const link = await createQuoteLinkWithDetails(db, newLink)
  printLine(isJson ? serializeLink(newLink, linkPrefix, link) : linkPrefix + link.token)
  printWarnings(context, newLink, link)
  warnOfLocalAddress(context)
  return 0
}

/**
 * Creates a link for each quote number of a file and returns the exit status. Prints each link as
 * soon as it is created, because a link that is not printed is lost. SIGINT stops after the
 * current link.
 */
export async function createManyLinks(
  context: ShareContext,
  file: string,
  linkOptions: LinkOptions,
): Promise<number> {
  const { db, linkPrefix, isJson, printLine, printError } = context
  let createdCount = 0
  let rejectedCount = 0
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
  }
  process.once('SIGINT', interrupt)
  for await (const number of readLines(context, file)) {
    if (isInterrupted) break
    const newLink = { number, ...linkOptions }
    try {
      const link = await createQuoteLinkWithDetails(db, newLink)
      printLine(
        isJson ? serializeLink(newLink, linkPrefix, link) : `${number}\t${linkPrefix}${link.token}`,
      )
      printWarnings(context, newLink, link)
      createdCount += 1
    } catch (error) {
      if (!(error instanceof LinkRefusedError)) throw error
      printError(`${number}: ${error.message}`)
      rejectedCount += 1
    }
  }
  process.off('SIGINT', interrupt)
  const interruption = isInterrupted ? ', interrupted' : ''
  printError(
    `${countNoun(createdCount, 'link')} created, ${rejectedCount} rejected${interruption}.`,
  )
  if (createdCount > 0) warnOfLocalAddress(context)
  if (isInterrupted) return interruptedStatus
  return rejectedCount > 0 ? 1 : 0
}

function serializeLink(
  { number }: NewLink,
  linkPrefix: string,
  { id, version, expiresAt, token, warnings }: CreatedLink,
): string {
  const url = linkPrefix + token
  return JSON.stringify({
    number,
    version,
    id,
    url,
    expiresAt: expiresAt?.toISOString() ?? null,
    warnings,
  })
}

function printWarnings(
  { printError }: ShareContext,
  { number }: NewLink,
  { version, warnings }: CreatedLink,
): void {
  for (const warning of warnings)
    printError(`warning: quote ${number} version ${version}: ${warning}.`)
}

/** A link for this machine would be sent to a customer otherwise. docker compose sets a default. */
function warnOfLocalAddress({ linkPrefix, isBaseUrlSet, printError }: ShareContext): void {
  if (isBaseUrlSet && !isLoopbackName(new URL(linkPrefix).hostname)) return
  const reason = isBaseUrlSet ? 'PUBLIC_BASE_URL names this machine' : 'PUBLIC_BASE_URL is not set'
  printError(
    `${reason}, so the links begin with ${linkPrefix} and open on this machine only. ` +
      'Set it to the address under which customers reach the service. Links that are already ' +
      'created work there too.',
  )
}

/** Prints the links of all versions of a quote. Returns the exit status. */
export async function printLinks(
  { db, countsViews, isJson, printLine, printError }: ShareContext,
  number: string,
): Promise<number> {
  const listed = await listQuoteLinks(db, number)
  // While views are not counted, zero says nothing. Views that were counted earlier are shown.
  const links = listed.map(({ views, ...link }) => ({
    ...link,
    views: views > 0 || countsViews ? views : null,
  }))
  if (links.length === 0) printError(`Quote ${number} has no links.`)
  for (const link of links) printLine(isJson ? JSON.stringify(link) : describeLink(link))
  return 0
}

function describeLink(link: Omit<ListedLink, 'views'> & { views: number | null }): string {
  const { id, version, createdAt, isErased, views, lastViewedAt } = link
  const erased = isErased ? '\tdocument erased' : ''
  const opened = lastViewedAt
    ? `\topened ${countNoun(views ?? 0, 'time')}, last ${lastViewedAt.toISOString()}`
    : ''
  const created = `created ${createdAt.toISOString()}`
  return `${id}\tversion ${version}\t${created}\t${describeLinkState(link)}${erased}${opened}`
}

function describeLinkState({
  expiresAt,
  isExpired,
  revokedAt,
}: Pick<ListedLink, 'expiresAt' | 'isExpired' | 'revokedAt'>): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`
  if (!expiresAt) return 'never expires'
  return `${isExpired ? 'expired' : 'expires'} ${expiresAt.toISOString()}`
}

/** The highest version or id that is accepted. It is an integer of PostgreSQL. */
export const maxWholeNumber = 999_999_999

/** Revokes a link and returns the exit status. Throws an error if there is no open link. */
export async function revokeOneLink(context: ShareContext, id: string): Promise<number> {
  if (!(await revokeQuoteLink(context.db, id)))
    throw new Error(`There is no link ${id}, or it is already revoked.`)
  printRevokedLink(context, id)
  return 0
}

/** Revokes the open links of a quote, or of one of its versions. Returns the exit status. */
export async function revokeLinksOfQuote(
  { db, isJson, printLine }: ShareContext,
  number: string,
  version: number | undefined,
): Promise<number> {
  const quote = `quote ${number}${version === undefined ? '' : ` version ${version}`}`
  const links = await listQuoteLinks(db, number)
  if (!links.some((link) => version === undefined || link.version === version))
    throw new Error(`There is no link of ${quote}. Is the number right?`)
  const revoked = await revokeAllLinksOfQuote(db, number, version)
  if (isJson) printLine(JSON.stringify({ number, version: version ?? null, revoked }))
  else if (revoked === 0) printLine(`There is no open link of ${quote}.`)
  else printLine(`${countNoun(revoked, 'link')} of ${quote} revoked.`)
  return 0
}

/**
 * Revokes the links whose ids are in a file, and returns the exit status. Revokes none if a line is
 * no id.
 */
export async function revokeManyLinks(context: ShareContext, file: string): Promise<number> {
  const { db, printError } = context
  const ids: string[] = []
  for await (const line of readLines(context, file))
    ids.push(String(parseWholeNumber('ID', line, maxWholeNumber)))
  let revokedCount = 0
  let missingCount = 0
  for (const id of ids) {
    if (await revokeQuoteLink(db, id)) {
      printRevokedLink(context, id)
      revokedCount += 1
    } else {
      printError(`There is no link ${id}, or it is already revoked.`)
      missingCount += 1
    }
  }
  printError(`${countNoun(revokedCount, 'link')} revoked, ${missingCount} not found.`)
  return missingCount > 0 ? 1 : 0
}

function printRevokedLink({ isJson, printLine }: ShareContext, id: string): void {
  printLine(isJson ? JSON.stringify({ id, revoked: 1 }) : `Link ${id} is revoked.`)
}
