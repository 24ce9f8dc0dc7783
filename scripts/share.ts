// Creates, lists and revokes quote links.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { publicBaseUrl, readShareConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import {
  defaultLinkLifetime,
  isLinkExpired,
  parseLinkExpiry,
} from '../src/quotes/links/link-expiry.ts'
import {
  createShareLink,
  type ListedLink,
  listShareLinks,
  QuoteNotShareableError,
  revokeShareLink,
  type ShareLinkRequest,
} from '../src/quotes/links/share-links.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/share.ts create NUMBER [--version N] [--expires 30d|never]
                                           [--language es|en] [--json]
       node scripts/share.ts create --file FILE [--expires 30d|never] [--language es|en] [--json]
       node scripts/share.ts list NUMBER [--json]
       node scripts/share.ts revoke ID

  create   freezes the quote as the customer will see it and prints the link. The link cannot be
           printed again, because only a hash of its token is stored. Rejects drafts, and quotes
           whose totals do not match their lines.
           --version   version of the quote. Default: the newest
           --file      file with one number per line, - for standard input. Prints number, tab
                       and link. If quotes are rejected, lists them on standard error, creates
                       the links of the others and exits with status 1
           --expires   days (30d) or hours (12h) until the link expires, or never.
                       Default: ${defaultLinkLifetime}
           --language  language of the page and the document. Default: the language of the quote
  list     lists the links of a quote with their ids, and how often each one was opened if
           COUNT_VIEWS is on.
  revoke   revokes a link immediately.

  --json   prints one JSON object per line, for programs

Reads DATABASE_URL, and PUBLIC_BASE_URL (or HOST and PORT) for the link.
`

const options = {
  version: { type: 'string' },
  expires: { type: 'string' },
  language: { type: 'string' },
  file: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

type OptionValues = {
  version?: string
  expires?: string
  language?: string
  file?: string
  json: boolean
}
/** The options that apply to every link that one call creates. */
type LinkOptions = Omit<ShareLinkRequest, 'number'>

/** The exit status of a program that SIGINT (signal 2) ends: 128 + 2. */
const interruptedStatus = 130
const byteOrderMark = /^\ufeff/

await runCommand(help, options, async (values, [action, argument, ...others]) => {
  checkArguments(values, action, others)
  if (action === 'create') return runCreate(values, argument)
  if (argument === undefined)
    throw new UsageError('An argument is missing: use create NUMBER, list NUMBER or revoke ID.')
  if (action === 'list') return withDatabase((db) => printLinks(db, argument, values.json))
  if (action === 'revoke') return runRevoke(argument)
  throw new UsageError(`There is no action ${action}: use create, list or revoke.`)
})

function checkArguments(values: OptionValues, action: string | undefined, others: string[]): void {
  if (others.length > 0)
    throw new UsageError(
      `Too many arguments: ${others.join(' ')}. Give one number or id, or use create --file.`,
    )
  const createOption = values.version ?? values.expires ?? values.language ?? values.file
  if (action !== 'create' && createOption !== undefined)
    throw new UsageError('--version, --expires, --language and --file belong to create.')
}

async function runCreate(values: OptionValues, number: string | undefined): Promise<number> {
  const { file, json } = values
  if (file !== undefined && values.version !== undefined)
    throw new UsageError('--version belongs to one NUMBER, not to --file.')
  const linkOptions = parseLinkOptions(values)
  if (number !== undefined && file === undefined)
    return withDatabase((db, linkPrefix) =>
      createOneLink(db, linkPrefix, { number, ...linkOptions }, json),
    )
  if (number === undefined && file !== undefined)
    return withDatabase((db, linkPrefix) =>
      createManyLinks(db, linkPrefix, file, linkOptions, json),
    )
  throw new UsageError('The quotes are missing: use create NUMBER, or create --file FILE.')
}

function parseLinkOptions(values: OptionValues): LinkOptions {
  const { expires = defaultLinkLifetime, version, language } = values
  const expiresAt = parseLinkExpiry(expires, new Date())
  if (expiresAt === undefined)
    throw new UsageError(
      `--expires ${expires} is not valid: write days such as 30d, hours such as 12h, or never.`,
    )
  return {
    expiresAt,
    ...(version !== undefined && { version: parseWholeNumber('--version', version) }),
    ...(language !== undefined && { language: parseLanguage(language) }),
  }
}

async function runRevoke(argument: string): Promise<number> {
  const id = String(parseWholeNumber('ID', argument))
  return withDatabase(async (db) => {
    if (!(await revokeShareLink(db, id)))
      throw new Error(`There is no link ${id}, or it is already revoked.`)
    console.log(`Link ${id} is revoked.`)
    return 0
  })
}

async function withDatabase(
  work: (db: Database, linkPrefix: string) => Promise<number>,
): Promise<number> {
  const config = readShareConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    return await work(db, `${publicBaseUrl(config)}/quote/share/`)
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
  const url = linkPrefix + (await createShareLink(db, request))
  console.log(isJson ? serializeLink(request, url) : url)
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
  const input = file === '-' ? process.stdin : createReadStream(file)
  let createdCount = 0
  let rejectedCount = 0
  let isInterrupted = false
  process.once('SIGINT', () => {
    isInterrupted = true
  })
  for await (const line of createInterface({ input })) {
    const number = line.replace(byteOrderMark, '').trim()
    if (number === '') continue
    if (isInterrupted) break
    const request = { number, ...linkOptions }
    try {
      const url = linkPrefix + (await createShareLink(db, request))
      console.log(isJson ? serializeLink(request, url) : `${number}\t${url}`)
      createdCount += 1
    } catch (error) {
      if (!(error instanceof QuoteNotShareableError)) throw error
      console.error(`${number}: ${error.message}`)
      rejectedCount += 1
    }
  }
  const links = createdCount === 1 ? '1 link' : `${createdCount} links`
  const interruption = isInterrupted ? ', interrupted' : ''
  console.error(`${links} created, ${rejectedCount} rejected${interruption}.`)
  if (isInterrupted) return interruptedStatus
  return rejectedCount > 0 ? 1 : 0
}

function serializeLink({ number, expiresAt }: ShareLinkRequest, url: string): string {
  return JSON.stringify({ number, url, expiresAt: expiresAt?.toISOString() ?? null })
}

async function printLinks(db: Database, number: string, isJson: boolean): Promise<number> {
  const links = await listShareLinks(db, number)
  if (links.length === 0) console.error(`Quote ${number} has no links.`)
  for (const link of links) console.log(isJson ? JSON.stringify(link) : describeLink(link))
  return 0
}

function describeLink(link: ListedLink): string {
  const { id, version, createdAt, views, lastViewedAt } = link
  const opened = lastViewedAt ? `\topened ${views} times, last ${lastViewedAt.toISOString()}` : ''
  const created = `created ${createdAt.toISOString()}`
  return `${id}\tversion ${version}\t${created}\t${describeLinkState(link)}${opened}`
}

function describeLinkState({ expiresAt, revokedAt }: ListedLink): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`
  if (!expiresAt) return 'never expires'
  const verb = isLinkExpired(expiresAt, new Date()) ? 'expired' : 'expires'
  return `${verb} ${expiresAt.toISOString()}`
}

function parseWholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError(`${name} ${text} is not a whole number from 1 to 999999999.`)
  return Number(text)
}

function parseLanguage(text: string): 'es' | 'en' {
  if (text !== 'es' && text !== 'en')
    throw new UsageError(`--language ${text} is not supported: use es or en.`)
  return text
}
