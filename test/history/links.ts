// Quote links as a subject of histories: made, withdrawn, run out; what is shown must be what was frozen, and nothing once the link is gone.
import { createHash } from 'node:crypto'
import { absent } from './model.ts'
import { day } from './quote-changes.ts'
import { linkKey, type QuoteRow, quoteColumns, quoteKey, remove, write } from './quotes.ts'
import type { Random } from './random.ts'
import {
  type Answer,
  type Change,
  instant,
  type Scene,
  type Subject,
  unexcused,
} from './subject.ts'

const numbers = ['L-1', 'L-2', 'L-3', 'L-4', 'L-5'] as const
const revoked = 'revoked'

/** An open link: which quote, the hash and the notes of the document that was frozen, and when it runs out by the clock. */
type Open = { number: string; contentHash: string; notes: string; expiresAt: string | null }
type Link = { token: string; hash: string; number: string }

/** So many of the newest links are asked for. */
const askedLinks = 14

export function linksSubject(): Subject {
  const links: Link[] = []
  const of = (path: string) => links.find(({ token }) => path.includes(token))

  return {
    name: 'links',
    askEveryMs: 80,

    draw(random, serial) {
      const number = random.pick(numbers)
      if (random.chance(0.45))
        return [offer(number, `Marca ${serial}`), share(random, number, links)]
      if (random.chance(0.6)) return [revoke(random, links)]
      if (random.chance(0.3))
        return [{ words: `delete ${number}`, apply: (client) => remove(client, number) }]
      return [setStatus(number, random.pick(['draft', 'sent', 'sent', 'accepted']))]
    },

    // The quotes go with those of the figures, and their links with them.
    async clear() {},

    question(random) {
      const link = links[links.length - random.between(1, Math.min(askedLinks, links.length))]
      if (!link) return null
      const format = random.pick(['json', 'json', 'json', 'html', 'html', 'html', 'html', 'pdf'])
      const isConditional = random.chance(0.3)
      return {
        path: `/quote/share/${link.token}?format=${format}`,
        headers: isConditional ? { 'if-none-match': '*' } : {},
      }
    },

    kind: ({ status }) => String(status),

    judge(answer, scene) {
      const link = of(answer.path)
      if (!link) return 'nobody made this link'
      if (answer.status === null || answer.status === 503) return unexcused(answer, scene)
      const { model, clock } = scene
      const values = [...model.possible(linkKey(link.hash), answer.sentAt, answer.endedAt)]
      const open = values
        .filter((value) => value !== revoked && value !== absent)
        .map((value) => JSON.parse(value) as Open)
      const statuses = statusesOf(link, answer, scene)
      const isOneOf = (state: string) => values.includes(state)
      const may: Record<number, boolean> = {
        404: isOneOf(absent) || statuses.has('draft'),
        410:
          isOneOf(revoked) ||
          open.some(
            ({ expiresAt }) =>
              expiresAt !== null && expiresAt <= clock.at(answer.endedAt).toISOString(),
          ),
        200: open.some(
          (one) => isStillOpen(one, clock.at(answer.sentAt)) && shows(answer, one, statuses),
        ),
      }
      if (may[answer.status]) return null
      return `status ${answer.status}: ${answer.body.slice(0, 200)}, but between ${instant(answer.sentAt)} and ${instant(answer.endedAt)} (by the clock ${clock.at(answer.sentAt).toISOString()}) it was ${values.join(' or ')}, its quote ${[...statuses].join(' or ')}`
    },

    finalQuestions: () =>
      links.slice(-askedLinks).map(({ token }) => ({ path: `/quote/share/${token}?format=json` })),

    judgeFinal(answer, scene) {
      return answer.status === null || answer.status === 503
        ? `status ${answer.status}`
        : this.judge(answer, scene)
    },
  }
}

/** What the status of its quote can have been, as it is shown: one that is only sent runs out with its last day. */
function statusesOf(
  { number }: Link,
  { sentAt, endedAt }: Answer,
  { model, clock }: Scene,
): Set<string> {
  const statuses = [...model.possible(quoteKey(number, 1), sentAt, endedAt)].flatMap((value) => {
    if (value === absent) return [absent]
    const { status, valid_until } = JSON.parse(value) as QuoteRow
    return clock
      .days(sentAt, endedAt)
      .map((today) =>
        status === 'sent' && valid_until !== null && valid_until < today ? 'expired' : status,
      )
  })
  return new Set(statuses)
}

const isStillOpen = ({ expiresAt }: Open, now: Date) =>
  expiresAt === null || expiresAt > now.toISOString()

/** Whether it is the frozen document, to the byte where bytes can be told, with a status that the quote can have had. */
function shows(
  { path, body, headers }: Answer,
  { contentHash, notes, number }: Open,
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

/** Makes the quote with one line, or gives it other notes and another net: what was frozen must not follow. */
function offer(number: string, notes: string): Change {
  return {
    words: `offer ${number} ${notes}`,
    async apply(client, clock) {
      const effects = await write(
        client,
        `insert into quotes (number, status, currency, rate, issued_on, valid_until, notes, customer_name, net, tax, gross)
         values ($1, 'sent', 'EUR', 1, $2, $3, $4, 'Cliente', 10, 2.1, 12.1) on conflict (number, version) do update
         set status = 'sent', decided_on = null, notes = excluded.notes, valid_until = greatest(quotes.issued_on, excluded.valid_until)
         returning ${quoteColumns}`,
        [number, day(clock, -1), day(clock, 1), notes],
      )
      await client.query(
        `insert into quote_lines (quote_id, position, description, quantity, unit_price, tax_rate, net)
         select id, 1, 'Martillo', 1, 10, 21, 10 from quotes where number = $1 on conflict do nothing`,
        [number],
      )
      return effects
    },
  }
}

/** A link that never runs out, or does so within some seconds. */
function share(random: Random, number: string, links: Link[]): Change {
  const token = Buffer.from(Array.from({ length: 32 }, () => random.between(0, 255))).toString(
    'base64url',
  )
  const hash = createHash('sha256').update(token).digest('hex')
  const afterMs = random.chance(0.5) ? null : random.between(200, 6_000)
  return {
    words: `share ${number} as ${token.slice(0, 6)}${afterMs === null ? '' : ` for ${afterMs} ms`}`,
    async apply(client, clock) {
      const expiresAt = afterMs === null ? null : clock.at(Date.now() + afterMs)
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
        "select content_hash, document, expires_at from quote_shares where token_hash = decode($1, 'hex')",
        [hash],
      )
      return rows.map(({ content_hash, document, expires_at }) => {
        const { notes } = JSON.parse(document) as { notes: string }
        const open: Open = {
          number,
          contentHash: content_hash,
          notes,
          expiresAt: expires_at?.toISOString() ?? null,
        }
        return { key: linkKey(hash), value: JSON.stringify(open) }
      })
    },
  }
}

function revoke(random: Random, links: Link[]): Change {
  const back = random.between(1, askedLinks)
  return {
    words: `revoke the ${back}. link from the end`,
    async apply(client) {
      const link = links.at(-back)
      if (!link) return []
      const { rowCount } = await client.query(
        "update quote_shares set revoked_at = now() where token_hash = decode($1, 'hex') and revoked_at is null",
        [link.hash],
      )
      return rowCount === 0 ? [] : [{ key: linkKey(link.hash), value: revoked }]
    },
  }
}

function setStatus(number: string, status: string): Change {
  return {
    words: `${status} ${number}`,
    apply: (client) =>
      write(
        client,
        `update quotes set status = $2, decided_on = null where number = $1 returning ${quoteColumns}`,
        [number, status],
      ),
  }
}
