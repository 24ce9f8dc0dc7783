// Creates, lists and revokes quote links.
import type { LinkExpiry } from '../src/quotes/links/manage-links.ts'
import { isLanguage, type Language, languages } from '../src/texts/languages.ts'
import {
  type CommandContext,
  chooseByName,
  defineProgram,
  type OptionValues,
  parseWholeNumber,
  processContext,
  UsageError,
} from './cli/command.ts'
import {
  createManyLinks,
  createOneLink,
  type LinkOptions,
  maxWholeNumber,
  printLinks,
  revokeLinksOfQuote,
  revokeManyLinks,
  revokeOneLink,
  withShareContext,
} from './cli/share-actions.ts'

/** The lifetime of a link that is created without --expires. */
const defaultExpires = '30d'
// From 1 to 99,999 days or hours. The database rejects an expiry in the past.
const lifetimePattern = /^([1-9]\d{0,4})([dh])$/
const unitMs = { d: 86_400_000, h: 3_600_000 }

const languageList = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(languages)

const help = `
Usage: node scripts/share.ts create NUMBER [--version N] [--expires 30d|never]
                                           [--language es] [--strict] [--json]
       node scripts/share.ts create --file FILE [--expires 30d|never] [--language es] [--strict]
                                    [--json]
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
                       Default: ${defaultExpires}
           --language  language of the page and the document: ${languageList}.
                       Default: the language of the quote
           --strict    rejects quotes with a probable mistake. Otherwise a warning names it: no
                       lines, a total below zero, no valid_until, 0 % tax without a reason, or
                       characters that the PDF cannot show
  list     lists the links of a quote with their ids, whether the document was erased
           SHARE_RETENTION_DAYS after the link was closed, and how often each one was opened if
           COUNT_VIEWS is on. Page, PDF and JSON count each time. Under load some openings are not
           counted.
  revoke   revokes links immediately.
           --number    every open link of this quote
           --version   only those of this version
           --file      file with one id per line, - for standard input. If there is no open link
                       with an id, says so on standard error, revokes the others and exits with
                       status 1

  --json   prints one JSON object per line, for programs. create: number, version, id, url,
           expiresAt and warnings. list: isErased, and views, which is null if COUNT_VIEWS is off, and more.
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
  strict: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

type Values = OptionValues<typeof options>

export const share = defineProgram(help, options, async (values, words, context) => {
  const [action, argument, ...others] = words
  const run = chooseByName(
    { create: runCreate, list: runList, revoke: runRevoke },
    action,
    'action',
  )
  checkArguments(values, action, others)
  return run(values, argument, context)
})

function checkArguments(values: Values, action: string | undefined, others: string[]): void {
  if (others.length > 0)
    throw new UsageError(
      `Too many arguments: ${others.join(' ')}. Give one number or id, or use create --file.`,
    )
  if (action !== 'create' && (values.expires ?? values.language) !== undefined)
    throw new UsageError('--expires and --language belong to create.')
  if (action !== 'create' && values.strict) throw new UsageError('--strict belongs to create.')
  if (action !== 'revoke' && values.number !== undefined)
    throw new UsageError('--number belongs to revoke.')
  if (action === 'list' && (values.version ?? values.file) !== undefined)
    throw new UsageError('--version and --file belong to create and revoke.')
}

async function runCreate(
  values: Values,
  number: string | undefined,
  command: CommandContext,
): Promise<number> {
  const { file, json } = values
  if (file !== undefined && values.version !== undefined)
    throw new UsageError('--version belongs to one NUMBER, not to --file.')
  const linkOptions = parseLinkOptions(values)
  if (number !== undefined && file === undefined)
    return withShareContext(command, json, (context) =>
      createOneLink(context, { number, ...linkOptions }),
    )
  if (number === undefined && file !== undefined)
    return withShareContext(command, json, (context) => createManyLinks(context, file, linkOptions))
  throw new UsageError('Name the quotes in one way: create NUMBER, or create --file FILE.')
}

function parseLinkOptions(values: Values): LinkOptions {
  const { expires = defaultExpires, version, language } = values
  return {
    expiry: parseExpiry(expires),
    isStrict: values.strict,
    ...(version !== undefined && {
      version: parseWholeNumber('--version', version, maxWholeNumber),
    }),
    ...(language !== undefined && { language: parseLanguage(language) }),
  }
}

/** Parses a lifetime in days ("30d") or hours ("12h"), or "never". */
function parseExpiry(expires: string): LinkExpiry {
  if (expires === 'never') return null
  const [, amount, unit] = lifetimePattern.exec(expires) ?? []
  if (amount === undefined)
    throw new UsageError(
      `--expires ${expires} is not valid: write days such as 30d, hours such as 12h, or never.`,
    )
  return { lifetimeMs: Number(amount) * unitMs[unit as 'd' | 'h'] }
}

async function runList(
  { json }: Values,
  number: string | undefined,
  command: CommandContext,
): Promise<number> {
  if (number === undefined) throw new UsageError('Name the quote: list NUMBER.')
  return withShareContext(command, json, (context) => printLinks(context, number))
}

async function runRevoke(
  values: Values,
  argument: string | undefined,
  command: CommandContext,
): Promise<number> {
  const { number, version, file, json } = values
  if ([argument, number, file].filter((given) => given !== undefined).length !== 1)
    throw new UsageError('Name what to revoke: an ID, --number NUMBER or --file FILE.')
  if (number === undefined && version !== undefined)
    throw new UsageError('--version belongs to --number.')
  if (number !== undefined) {
    const only =
      version === undefined ? undefined : parseWholeNumber('--version', version, maxWholeNumber)
    return withShareContext(command, json, (context) => revokeLinksOfQuote(context, number, only))
  }
  if (file !== undefined)
    return withShareContext(command, json, (context) => revokeManyLinks(context, file))
  const id = String(parseWholeNumber('ID', argument ?? '', maxWholeNumber))
  return withShareContext(command, json, (context) => revokeOneLink(context, id))
}

function parseLanguage(text: string): Language {
  if (!isLanguage(text))
    throw new UsageError(`--language ${text} is not supported: use ${languages.join(', ')}.`)
  return text
}

if (import.meta.main) process.exitCode = await share(processContext)
