// Makes, lists and revokes quote links.
import { publicBaseUrl, readShareConfig } from '../src/config.ts'
import { openDatabase } from '../src/connections.ts'
import { listShares, revokeShare, shareQuote } from '../src/quotes/share.ts'
import { runCommand, UsageError } from './command.ts'

const help = `
Usage: node scripts/share.ts create NUMBER [--version N] [--expires 30d|never] [--language es|en]
       node scripts/share.ts list NUMBER
       node scripts/share.ts revoke ID

  create   freezes what the customer will see and prints the link, once: only a hash of its token is stored. The newest version unless
           --version says otherwise. Drafts are refused, and quotes whose totals disagree with their lines.
           --expires  after how many days (30d) or hours (12h) the link ends, or never. Default: 30d
           --language of the page and document. Default: the quote's own
  list     the links of a quote, with their ids.
  revoke   withdraws a link at once.

Reads DATABASE_URL, and PUBLIC_BASE_URL (or HOST and PORT) for the link.
`

const options = { version: { type: 'string' }, expires: { type: 'string' }, language: { type: 'string' } } as const

await runCommand(help, options, async (values, [action, word, ...others]) => {
  if (!action || !word || others.length > 0) throw new UsageError('Say what to do: create NUMBER, list NUMBER or revoke ID.')
  const config = readShareConfig()
  const db = openDatabase(config.DATABASE_URL, { connections: 1 })
  try {
    if (action === 'create') {
      const token = await shareQuote(db, {
        number: word,
        expiresAt: expiry(values.expires ?? '30d'),
        ...(values.version !== undefined && { version: wholeNumber('--version', values.version) }),
        ...(values.language !== undefined && { language: language(values.language) }),
      })
      console.log(`${publicBaseUrl(config)}/quote/share/${token}`)
      return 0
    }
    if (action === 'list') {
      const shares = await listShares(db, word)
      if (shares.length === 0) console.error(`There are no links to quote ${word}.`)
      for (const { id, version, createdAt, expiresAt, revokedAt } of shares) {
        const state = revokedAt ? `revoked ${revokedAt.toISOString()}` : expiresAt ? `expires ${expiresAt.toISOString()}` : 'never expires'
        console.log(`${id}\tversion ${version}\tmade ${createdAt.toISOString()}\t${state}`)
      }
      return 0
    }
    if (action === 'revoke') {
      if (!(await revokeShare(db, String(wholeNumber('ID', word)))))
        throw new Error(`There is no link ${word} that is not revoked already.`)
      console.log(`Link ${word} is revoked.`)
      return 0
    }
    throw new UsageError(`There is no action ${action}: use create, list or revoke.`)
  } finally {
    await db.destroy()
  }
})

function expiry(text: string): Date | null {
  if (text === 'never') return null
  const [, amount, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? []
  if (!amount) throw new UsageError(`--expires ${text} is not valid: write days such as 30d, hours such as 12h, or never.`)
  return new Date(Date.now() + Number(amount) * (unit === 'd' ? 86_400_000 : 3_600_000))
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${name} ${text} is not a whole number from 1.`)
  return Number(text)
}

function language(text: string): 'es' | 'en' {
  if (text !== 'es' && text !== 'en') throw new UsageError(`--language ${text} is not known: use es or en.`)
  return text
}
