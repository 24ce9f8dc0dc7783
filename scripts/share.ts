// Makes, lists and revokes quote links.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { publicBaseUrl, readShareConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import {
  createShareLink,
  listShareLinks,
  QuoteNotShareableError,
  revokeShareLink,
  type ShareLinkRequest,
} from '../src/quotes/share-links.ts'
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: node scripts/share.ts create NUMBER [--version N] [--expires 30d|never] [--language es|en] [--json]
       node scripts/share.ts create --file FILE [--expires 30d|never] [--language es|en] [--json]
       node scripts/share.ts list NUMBER [--json]
       node scripts/share.ts revoke ID

  create   freezes what the customer will see and prints the link, once: only a hash of its token is stored. The newest version unless
           --version says otherwise. Drafts are refused, and quotes whose totals disagree with their lines.
           --file     one number on each line, - for standard input: prints number, tab and link. Those that are refused are named on
                      standard error, the others are made, and the exit status is 1
           --expires  after how many days (30d) or hours (12h) the link ends, or never. Default: 30d
           --language of the page and document. Default: the quote's own
  list     the links of a quote, with their ids, and how often each was opened where COUNT_VIEWS is on.
  revoke   withdraws a link at once.

  --json   one JSON object on each line, for programs

Reads DATABASE_URL, and PUBLIC_BASE_URL (or HOST and PORT) for the link.
`

const options = {
  version: { type: 'string' },
  expires: { type: 'string' },
  language: { type: 'string' },
  file: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

await runCommand(help, options, async (values, [action, word, ...others]) => {
  if (others.length > 0)
    throw new UsageError(
      `${others.join(' ')} is too much: one number or id at a time, or create --file.`,
    )
  if (
    action !== 'create' &&
    (values.version ?? values.expires ?? values.language ?? values.file) !== undefined
  )
    throw new UsageError('--version, --expires, --language and --file belong to create.')
  if (action === 'create') {
    if ((word === undefined) === (values.file === undefined))
      throw new UsageError('Say which quotes: create NUMBER, or create --file FILE.')
    if (values.file !== undefined && values.version !== undefined)
      throw new UsageError('--version belongs to one NUMBER, not to --file.')
    const wanted = {
      expiresAt: expiry(values.expires ?? '30d'),
      ...(values.version !== undefined && { version: wholeNumber('--version', values.version) }),
      ...(values.language !== undefined && { language: language(values.language) }),
    }
    return withDatabase((db, base) =>
      values.file === undefined
        ? createOne(db, base, { number: word ?? '', ...wanted }, values.json)
        : createMany(db, base, values.file, wanted, values.json),
    )
  }
  if (word === undefined)
    throw new UsageError('Say what to do: create NUMBER, list NUMBER or revoke ID.')
  if (action === 'list') return withDatabase((db) => list(db, word, values.json))
  if (action === 'revoke') {
    const id = String(wholeNumber('ID', word))
    return withDatabase(async (db) => {
      if (!(await revokeShareLink(db, id)))
        throw new Error(`There is no link ${id} that is not revoked already.`)
      console.log(`Link ${id} is revoked.`)
      return 0
    })
  }
  throw new UsageError(`There is no action ${action}: use create, list or revoke.`)
})

async function withDatabase(
  work: (db: Database, base: string) => Promise<number>,
): Promise<number> {
  const config = readShareConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    return await work(db, `${publicBaseUrl(config)}/quote/share/`)
  } finally {
    await db.destroy()
  }
}

async function createOne(
  db: Database,
  base: string,
  request: ShareLinkRequest,
  json: boolean,
): Promise<number> {
  const url = base + (await createShareLink(db, request))
  console.log(json ? made(request, url) : url)
  return 0
}

/** Each link is printed as soon as it is made: one that is made and not printed would be lost. */
async function createMany(
  db: Database,
  base: string,
  file: string,
  wanted: Omit<ShareLinkRequest, 'number'>,
  json: boolean,
): Promise<number> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  let [links, refused] = [0, 0]
  let stopped = false
  process.once('SIGINT', () => {
    stopped = true
  })
  for await (const line of createInterface({ input })) {
    const number = line.replace(/^\ufeff/, '').trim()
    if (number === '') continue
    if (stopped) break
    try {
      const url = base + (await createShareLink(db, { number, ...wanted }))
      console.log(json ? made({ number, ...wanted }, url) : `${number}\t${url}`)
      links += 1
    } catch (error) {
      if (!(error instanceof QuoteNotShareableError)) throw error
      console.error(`${number}: ${error.message}`)
      refused += 1
    }
  }
  console.error(
    `${links} ${links === 1 ? 'link' : 'links'} made, ${refused} refused${stopped ? ', stopped before the end' : ''}.`,
  )
  return stopped ? 130 : refused > 0 ? 1 : 0
}

function made({ number, expiresAt }: ShareLinkRequest, url: string): string {
  return JSON.stringify({ number, url, expiresAt: expiresAt?.toISOString() ?? null })
}

async function list(db: Database, number: string, json: boolean): Promise<number> {
  const shares = await listShareLinks(db, number)
  if (shares.length === 0) console.error(`There are no links to quote ${number}.`)
  for (const share of shares) {
    const { id, version, createdAt, expiresAt, revokedAt, views, lastViewedAt } = share
    if (json) {
      console.log(JSON.stringify(share))
      continue
    }
    const expired = expiresAt && expiresAt <= new Date()
    const state = revokedAt
      ? `revoked ${revokedAt.toISOString()}`
      : expiresAt
        ? `${expired ? 'expired' : 'expires'} ${expiresAt.toISOString()}`
        : 'never expires'
    const opened = lastViewedAt ? `\topened ${views} times, last ${lastViewedAt.toISOString()}` : ''
    console.log(`${id}\tversion ${version}\tmade ${createdAt.toISOString()}\t${state}${opened}`)
  }
  return 0
}

function expiry(text: string): Date | null {
  if (text === 'never') return null
  const [, amount, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? []
  if (!amount)
    throw new UsageError(
      `--expires ${text} is not valid: write days such as 30d, hours such as 12h, or never.`,
    )
  return new Date(Date.now() + Number(amount) * (unit === 'd' ? 86_400_000 : 3_600_000))
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError(`${name} ${text} is not a whole number from 1.`)
  return Number(text)
}

function language(text: string): 'es' | 'en' {
  if (text !== 'es' && text !== 'en')
    throw new UsageError(`--language ${text} is not known: use es or en.`)
  return text
}
