// Creates, lists and revokes quote links.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { isLanguage, type Language, languages } from '../src/company/languages.ts'
import { getPublicBaseUrl, readShareConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import { isLoopbackName } from '../src/http/host-header.ts'
import { defaultLinkLifetime, parseLinkLifetime } from '../src/quotes/links/link-expiry.ts'
import {
  type CreatedLink,
  createShareLinkWithDetails,
  type ListedLink,
  listShareLinks,
  QuoteNotShareableError,
  revokeShareLink,
  revokeShareLinksOfQuote,
  type ShareLinkRequest,
} from '../src/quotes/links/manage-links.ts'
import { countNoun } from '../src/text/count-noun.ts'
import {
  chooseByName,
  type OptionValues,
  parseWholeNumber,
  runCommand,
  UsageError,
} from './cli/command.ts'

const languageList = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(languages)

const help = `
Usage: node scripts/share.ts create NUMBER [--version N] [--expires 30d|never]
                                           [--language es] [--json]
       node scripts/share.ts create --file FILE [--expires 30d|never] [--language es] [--json]
       node scripts/share.ts list NUMBER [--json]
       node scripts/share.ts revoke ID [--json]
       node scripts/share.ts revoke --number NUMBER [--version N] [--json]
       node scripts/share.ts revoke --file FILE [--json]

  create   freezes the quote as the customer will see it and prints the link. The link cannot be
           printed again, because only a hash of its token is stored. Rejects drafts, and quotes
           whose totals do not match their lines.
           --version   version of the quote. Default: the newest
           --file      file with one number per line, - for standard input. Prints number, tab
                       and link. If quotes are rejected, lists them on standard error, creates
                       the links of the others and exits with status 1
           --expires   days (30d) or hours (12h) until the link expires, or never.
                       Default: ${defaultLinkLifetime}
           --language  language of the page and the document: ${languageList}.
                       Default: the language of the quote
  list     lists the links of a quote with their ids, whether the document was erased
           SHARE_RETENTION_DAYS after the link was closed, and how often each one was opened if
           COUNT_VIEWS is on.
  revoke   revokes links immediately.
           --number    every open link of this quote
           --version   only those of this version
           --file      file with one id per line, - for standard input. If there is no open link
                       with an id, says so on standard error, revokes the others and exits with
                       status 1

  --json   prints one JSON object per line, for programs. create: number, version, id, url and
           expiresAt. list: isErased, and views, which is null if COUNT_VIEWS is off, and more.
           revoke: id, or number, and how many links were revoked

Reads DATABASE_URL, and PUBLIC_BASE_URL (or HOST and PORT) for the link. Without PUBLIC_BASE_URL
create says on standard error that its links open on this machine only.
`

const options = {
  version: { type: 'string' },
  expires: { type: 'string' },
  language: { type: 'string' },
  file: { type: 'string' },
  number: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

type Values = OptionValues<typeof options>
/** The options that apply to every link that one call creates. */
type LinkOptions = Omit<ShareLinkRequest, 'number'>

/** The exit status of a program that SIGINT (signal 2) ends: 128 + 2. */
const interruptedStatus = 130
/** The highest version or id that is accepted. It is an integer of PostgreSQL. */
const maxWholeNumber = 999_999_999
const byteOrderMark = /^\ufeff/

await runCommand(help, options, async (values, [action, argument, ...others]) => {
  const run = chooseByName(
    { create: runCreate, list: runList, revoke: runRevoke },
    action,
    'action',
  )
  checkArguments(values, action, others)
  return run(values, argument)
})

async function runList({ json }: Values, number: string | undefined): Promise<number> {
  if (number === undefined) throw new UsageError('Name the quote: list NUMBER.')
  return withDatabase((db, { countsViews }) => printLinks(db, number, json, countsViews))
}

function checkArguments(values: Values, action: string | undefined, others: string[]): void {
  if (others.length > 0)
    throw new UsageError(
      `Too many arguments: ${others.join(' ')}. Give one number or id, or use create --file.`,
    )
  if (action !== 'create' && (values.expires ?? values.language) !== undefined)
    throw new UsageError('--expires and --language belong to create.')
  if (action !== 'revoke' && values.number !== undefined)
    throw new UsageError('--number belongs to revoke.')
  if (action === 'list' && (values.version ?? values.file) !== undefined)
    throw new UsageError('--version and --file belong to create and revoke.')
}

async function runCreate(values: Values, number: string | undefined): Promise<number> {
  const { file, json } = values
  if (file !== undefined && values.version !== undefined)
    throw new UsageError('--version belongs to one NUMBER, not to --file.')
  const linkOptions = parseLinkOptions(values)
  if (number !== undefined && file === undefined)
    return withDatabase((db, { linkPrefix }) =>
      createOneLink(db, linkPrefix, { number, ...linkOptions }, json),
    )
  if (number === undefined && file !== undefined)
    return withDatabase((db, { linkPrefix }) =>
      createManyLinks(db, linkPrefix, file, linkOptions, json),
    )
  throw new UsageError('The quotes are missing: use create NUMBER, or create --file FILE.')
}

function parseLinkOptions(values: Values): LinkOptions {
  const { expires = defaultLinkLifetime, version, language } = values
  const lifetimeMs = parseLinkLifetime(expires)
  if (lifetimeMs === undefined)
    throw new UsageError(
      `--expires ${expires} is not valid: write days such as 30d, hours such as 12h, or never.`,
    )
  return {
    lifetimeMs,
    ...(version !== undefined && {
      version: parseWholeNumber('--version', version, maxWholeNumber),
    }),
    ...(language !== undefined && { language: parseLanguage(language) }),
  }
}

async function runRevoke(values: Values, argument: string | undefined): Promise<number> {
  const { number, version, file, json } = values
  if ([argument, number, file].filter((given) => given !== undefined).length !== 1)
    throw new UsageError('Name what to revoke: an ID, --number NUMBER or --file FILE.')
  if (number === undefined && version !== undefined)
    throw new UsageError('--version belongs to --number.')
  if (number !== undefined) {
    const only =
      version === undefined ? undefined : parseWholeNumber('--version', version, maxWholeNumber)
    return withDatabase((db) => revokeLinksOfQuote(db, number, only, json))
  }
  if (file !== undefined) return withDatabase((db) => revokeManyLinks(db, file, json))
  const id = String(parseWholeNumber('ID', argument ?? '', maxWholeNumber))
  return withDatabase(async (db) => {
    if (!(await revokeShareLink(db, id)))
      throw new Error(`There is no link ${id}, or it is already revoked.`)
    console.log(json ? JSON.stringify({ id, revoked: 1 }) : `Link ${id} is revoked.`)
    return 0
  })
}

async function revokeLinksOfQuote(
  db: Database,
  number: string,
  version: number | undefined,
  isJson: boolean,
): Promise<number> {
  const quote = `quote ${number}${version === undefined ? '' : ` version ${version}`}`
  const links = await listShareLinks(db, number)
  if (!links.some((link) => version === undefined || link.version === version))
    throw new Error(`There is no link of ${quote}. Is the number right?`)
  const revoked = await revokeShareLinksOfQuote(db, number, version)
  if (isJson) console.log(JSON.stringify({ number, version: version ?? null, revoked }))
  else if (revoked === 0) console.log(`There is no open link of ${quote}.`)
  else console.log(`${countNoun(revoked, 'link')} of ${quote} revoked.`)
  return 0
}

/**
 * Revokes the links whose ids are in a file, and returns the exit status. Revokes none if a line is
 * no id.
 */
async function revokeManyLinks(db: Database, file: string, isJson: boolean): Promise<number> {
  const ids: string[] = []
  for await (const line of readLines(file))
    ids.push(String(parseWholeNumber('ID', line, maxWholeNumber)))
  let revokedCount = 0
  let missingCount = 0
  for (const id of ids) {
    if (await revokeShareLink(db, id)) {
      console.log(isJson ? JSON.stringify({ id, revoked: 1 }) : `Link ${id} is revoked.`)
      revokedCount += 1
    } else {
      console.error(`There is no link ${id}, or it is already revoked.`)
      missingCount += 1
    }
  }
  console.error(`${countNoun(revokedCount, 'link')} revoked, ${missingCount} not found.`)
  return missingCount > 0 ? 1 : 0
}

/** Yields the lines of a file that are not blank, trimmed. - is standard input. */
async function* readLines(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  for await (const line of createInterface({ input })) {
    const text = line.replace(byteOrderMark, '').trim()
    if (text !== '') yield text
  }
}

type ShareSettings = { linkPrefix: string; countsViews: boolean }

async function withDatabase(
  work: (db: Database, settings: ShareSettings) => Promise<number>,
): Promise<number> {
  const config = readShareConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    const linkPrefix = `${getPublicBaseUrl(config)}/quote/share/`
    return await work(db, { linkPrefix, countsViews: config.COUNT_VIEWS })
  } finally {
    await db.destroy()
  }
}

async function createOneLink(
  db: Database,
  linkPrefix: string,
  request: ShareLinkRequest,
  isJson: boolean,
): Promise<number> {
  const link = await createShareLinkWithDetails(db, request)
  console.log(isJson ? serializeLink(request, linkPrefix, link) : linkPrefix + link.token)
  warnOfLocalAddress(linkPrefix)
  return 0
}

/**
 * Creates a link for each quote number of a file and returns the exit status. Prints each link as
 * soon as it is created, because a link that is not printed is lost. SIGINT stops after the
 * current link.
 */
async function createManyLinks(
  db: Database,
  linkPrefix: string,
  file: string,
  linkOptions: LinkOptions,
  isJson: boolean,
): Promise<number> {
  let createdCount = 0
  let rejectedCount = 0
  let isInterrupted = false
  process.once('SIGINT', () => {
    isInterrupted = true
  })
  for await (const number of readLines(file)) {
    if (isInterrupted) break
    const request = { number, ...linkOptions }
    try {
      const link = await createShareLinkWithDetails(db, request)
      console.log(
        isJson ? serializeLink(request, linkPrefix, link) : `${number}\t${linkPrefix}${link.token}`,
      )
      createdCount += 1
    } catch (error) {
      if (!(error instanceof QuoteNotShareableError)) throw error
      console.error(`${number}: ${error.message}`)
      rejectedCount += 1
    }
  }
  const interruption = isInterrupted ? ', interrupted' : ''
  console.error(
    `${countNoun(createdCount, 'link')} created, ${rejectedCount} rejected${interruption}.`,
  )
  if (createdCount > 0) warnOfLocalAddress(linkPrefix)
  if (isInterrupted) return interruptedStatus
  return rejectedCount > 0 ? 1 : 0
}

function serializeLink(
  { number }: ShareLinkRequest,
  linkPrefix: string,
  { id, version, expiresAt, token }: CreatedLink,
): string {
  const url = linkPrefix + token
  return JSON.stringify({
    number,
    version,
    id,
    url,
    expiresAt: expiresAt?.toISOString() ?? null,
  })
}

/** A link for this machine would be sent to a customer otherwise. docker compose sets a default. */
function warnOfLocalAddress(linkPrefix: string): void {
  const isUnset = readShareConfig().PUBLIC_BASE_URL === undefined
  if (!isUnset && !isLoopbackName(new URL(linkPrefix).hostname)) return
  console.error(
    `${isUnset ? 'PUBLIC_BASE_URL is not set' : 'PUBLIC_BASE_URL names this machine'}, so the ` +
      `links begin with ${linkPrefix} and open on this machine only. Set it to the address under ` +
      'which customers reach the service. Links that are already created work there too.',
  )
}

async function printLinks(
  db: Database,
  number: string,
  isJson: boolean,
  countsViews: boolean,
): Promise<number> {
  const listed = await listShareLinks(db, number)
  // Without counting, no view is no information. Views that were counted earlier are.
  const links = listed.map(({ views, ...link }) => ({
    ...link,
    views: views > 0 || countsViews ? views : null,
  }))
  if (links.length === 0) console.error(`Quote ${number} has no links.`)
  for (const link of links) console.log(isJson ? JSON.stringify(link) : describeLink(link))
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

function parseLanguage(text: string): Language {
  if (!isLanguage(text))
    throw new UsageError(`--language ${text} is not supported: use ${languages.join(', ')}.`)
  return text
}
