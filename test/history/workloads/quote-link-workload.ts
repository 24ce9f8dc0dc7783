// The share link workload: links are created, revoked and expire. A link must show the document
// that was frozen, and nothing once it is closed.
import { createHash } from 'node:crypto'
import { absent } from '../committed-states.ts'
import type { Random } from '../seeded-random.ts'
import { day } from './quote-changes.ts'
import { deleteQuotes, linkKey, type QuoteRow, quoteKey, writeQuotes } from './quote-rows.ts'
import {
  type ApiResponse,
  type Change,
  type CheckContext,
  formatInstant,
  unexcusedFailure,
  type Workload,
} from './workload.ts'

const numbers = ['L-1', 'L-2', 'L-3', 'L-4', 'L-5'] as const
const revoked = 'revoked'

/** The value of an open link: its quote, the frozen document and validity, and when it expires. */
type OpenLink = {
  number: string
  contentHash: string
  notes: string
  validUntil: string | null
  expiresAt: string | null
}
export type Link = { token: string; hash: string; number: string }

/** Only the newest links are requested. */
const requestedLinks = 14

export function quoteLinkWorkload(): Workload {
  const links: Link[] = []

  return {
    requestIntervalMs: 80,

    drawChanges(random, serial) {
      const number = random.pick(numbers)
      if (random.chance(0.45))
        return [upsertQuote(number, `Marca ${serial}`), createLink(random, number, links)]
      if (random.chance(0.6)) return [revokeLink(random.between(1, requestedLinks), links)]
      if (random.chance(0.3))
        return [
          { description: `delete ${number}`, apply: (client) => deleteQuotes(client, number) },
        ]
      return [setStatus(number, random.pick(['draft', 'sent', 'sent', 'accepted']))]
    },

    // The stats workload deletes all quotes, and their links with them.
    async clear() {},

    nextRequest(random) {
      const link = links[links.length - random.between(1, Math.min(requestedLinks, links.length))]
      if (!link) return null
      const format = random.pick(['json', 'json', 'json', 'html', 'html', 'html', 'html', 'pdf'])
      const isConditional = random.chance(0.3)
      return {
        path: `/quote/share/${link.token}?format=${format}`,
        headers: isConditional ? { 'if-none-match': '*' } : {},
      }
    },

    checkResponse(response, context) {
      const link = links.find(({ token }) => response.path.includes(token))
      if (!link) return 'this link was never created'
      if (response.status === null || response.status === 503)
        return unexcusedFailure(response, context)
      return checkAnsweredLink(link, response, response.status, context)
    },

    finalRequests: () =>
      links
        .slice(-requestedLinks)
        .map(({ token }) => ({ path: `/quote/share/${token}?format=json` })),

    checkFinalResponse(response, context) {
      return response.status === null || response.status === 503
        ? `status ${response.status}`
        : this.checkResponse(response, context)
    },
  }
}

function checkAnsweredLink(
  link: Link,
  response: ApiResponse,
  status: number,
  context: CheckContext,
): string | null {
  const { states, clock } = context
  const { sentAt, endedAt, body } = response
  const values = [...states.possibleValues(linkKey(link.hash), sentAt, endedAt)]
  const openLinks = values
    .filter((value) => value !== revoked && value !== absent)
    .map((value) => JSON.parse(value) as OpenLink)
  const statuses = possibleStatuses(link, response, context)
  const isAllowed: Record<number, boolean> = {
    404: values.includes(absent) || statuses.has('draft'),
    410: values.includes(revoked) || openLinks.some((open) => hasExpired(open, endedAt)),
    200: openLinks.some(
      (open) =>
        !hasExpired(open, sentAt) &&
        showsDocument(response, open, shownStatuses(statuses, open, response, context)),
    ),
  }
  if (isAllowed[status]) return null
  return (
    `status ${status}: ${body.slice(0, 200)}, but between ${formatInstant(sentAt)} and ` +
    `${formatInstant(endedAt)} (fast clock: ${clock.at(sentAt).toISOString()}) the link was ` +
    `${values.join(' or ')} and its quote ${[...statuses].join(' or ')}`
  )
}

/** The statuses of the quote. */
function possibleStatuses(
  { number }: Link,
  { sentAt, endedAt }: ApiResponse,
  { states }: CheckContext,
): Set<string> {
  const values = [...states.possibleValues(quoteKey(number, 1), sentAt, endedAt)]
  const statuses = values.map((value) =>
    value === absent ? absent : (JSON.parse(value) as QuoteRow).status,
  )
  return new Set(statuses)
}

/** The statuses that the link can have shown. A sent quote expires after its frozen last day. */
function shownStatuses(
  statuses: Set<string>,
  { validUntil }: OpenLink,
  { sentAt, endedAt }: ApiResponse,
  { clock }: CheckContext,
): Set<string> {
  const shown = [...statuses].flatMap((status) =>
    clock
      .days(sentAt, endedAt)
      .map((today) =>
        status === 'sent' && validUntil !== null && validUntil < today ? 'expired' : status,
      ),
  )
  return new Set(shown)
}

/** Links expire by the clock of the database, which is the real one. */
const hasExpired = ({ expiresAt }: OpenLink, realMs: number) =>
  expiresAt !== null && Date.parse(expiresAt) <= realMs

/** Whether the response shows the frozen document (JSON: by its hash) with a possible status. */
function showsDocument(
  { path, body, headers }: ApiResponse,
  { contentHash, notes, number }: OpenLink,
  statuses: Set<string>,
): boolean {
  if (path.endsWith('=html')) return body.includes(notes) && body.includes(number)
  if (path.endsWith('=pdf'))
    return body.startsWith('%PDF-') && (headers['content-disposition'] ?? '').includes(number)
  const document = body.slice(body.indexOf('"document":') + '"document":'.length, -1)
  const answer = JSON.parse(body) as { status: string; contentHash: string }
  const hash = createHash('sha256').update(document).digest('hex')
  return answer.contentHash === contentHash && hash === contentHash && statuses.has(answer.status)
}

/** Creates a quote with one line, or changes its notes: a frozen document must not change. */
export function upsertQuote(number: string, notes: string): Change {
  return {
    description: `upsert ${number} ${notes}`,
    async apply(client, clock) {
      const effects = await writeQuotes(
        client,
        `insert into quotes (number, status, currency, rate, issued_on, valid_until, notes,
           customer_name, net, tax, gross)
         values ($1, 'sent', 'EUR', 1, $2, $3, $4, 'Cliente', 10, 2.1, 12.1)
         on conflict (number, version) do update
         set status = 'sent', decided_on = null, notes = excluded.notes,
           valid_until = greatest(quotes.issued_on, excluded.valid_until)
         returning number`,
        [number, day(clock, -1), day(clock, 1), notes],
      )
      await client.query(
        `insert into quote_lines (quote_id, position, description, quantity, unit_price,
           tax_rate, net)
         select id, 1, 'Martillo', 1, 10, 21, 10 from quotes where number = $1
         on conflict do nothing`,
        [number],
      )
      return effects
    },
  }
}

/** Creates a link that never expires, or that expires within some seconds. */
export function createLink(random: Random, number: string, links: Link[]): Change {
  const token = Buffer.from(Array.from({ length: 32 }, () => random.between(0, 255))).toString(
    'base64url',
  )
  const hash = createHash('sha256').update(token).digest('hex')
  const validMs = random.chance(0.5) ? null : random.between(200, 6_000)
  const validity = validMs === null ? '' : ` for ${validMs} ms`
  return {
    description: `share ${number} as ${token.slice(0, 6)}${validity}`,
    async apply(client) {
      const expiresAt = validMs === null ? null : new Date(Date.now() + validMs)
      await client.query("select create_quote_share($1, null, decode($2, 'hex'), $3)", [
        number,
        hash,
        expiresAt,
      ])
      links.push({ token, hash, number })
      const { rows } = await client.query<{
        content_hash: string
        document: string
        expires_at: Date | null
      }>(
        `select content_hash, document, expires_at from quote_shares
         where token_hash = decode($1, 'hex')`,
        [hash],
      )
      return rows.map(({ content_hash, document, expires_at }) => {
        const { notes, validUntil } = JSON.parse(document) as {
          notes: string
          validUntil: string | null
        }
        const open: OpenLink = {
          number,
          contentHash: content_hash,
          notes,
          validUntil,
          expiresAt: expires_at?.toISOString() ?? null,
        }
        return { key: linkKey(hash), value: JSON.stringify(open) }
      })
    },
  }
}

/** Revokes a link, unless its quote was deleted: such a link stays unknown to visitors. */
export function revokeLink(fromEnd: number, links: Link[]): Change {
  return {
    description: `revoke link ${fromEnd} from the end`,
    async apply(client) {
      const link = links.at(-fromEnd)
      if (!link) return []
      await client.query(
        "select revoke_quote_share(id) from quote_shares where token_hash = decode($1, 'hex')",
        [link.hash],
      )
      // Read afterwards, because the revocation may have waited for a deletion.
      const { rowCount } = await client.query(
        `select from quote_shares
         where token_hash = decode($1, 'hex') and revoked_at is not null and quote_id is not null`,
        [link.hash],
      )
      return rowCount === 0 ? [] : [{ key: linkKey(link.hash), value: revoked }]
    },
  }
}

function setStatus(number: string, status: string): Change {
  return {
    description: `set ${number} to ${status}`,
    apply: (client) =>
      writeQuotes(
        client,
        `update quotes set status = $2, decided_on = null where number = $1
         returning number`,
        [number, status],
      ),
  }
}
