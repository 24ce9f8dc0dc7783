// What a visitor gets whose link is closed, or is closed during the request: no part of the quote.
// Numbers such as S8 are those of the attacks in docs/security.md.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { createQuoteLink, revokeQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { findNewestLinkId } from '../../support/quotes/newest-link.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { startLinksApi } from '../../support/quotes/start-links-api.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'

waitLongForRenderings(t)

// These tests mostly wait, so four run at once. Each has its own database. The longest is first.
t.jobs = 4

const formats = ['html', 'json', 'pdf'] as const

t.test(
  'two processes show no document after its link was revoked or has expired (S8)',
  async (t) => {
    const database = await testDatabase(t)
    await addQuote(database.db, 'P-1')
    const processes = await Promise.all([startLinksApi(t, database), startLinksApi(t, database)])
    let openCount = 0
    // Every third link expires, and the others are revoked.
    for (let round = 0; round < 6; round += 1) {
      const isExpiring = round % 3 === 2
      const expiresAt = isExpiring ? new Date(Date.now() + 800) : null
      const token = await createQuoteLink(database.db, { number: 'P-1', expiry: expiresAt })
      const visitors = processes.flatMap(({ address }) =>
        formats.map((format) => startVisitor(`${address}/quote/share/${token}?format=${format}`)),
      )
      if (!isExpiring) {
        // The number of responses before the revocation differs between rounds.
        await waitFor(() => visitors.every(({ openCount }) => openCount > round % 3))
        t.ok(await revokeQuoteLink(database.db, await findNewestLinkId(database)))
      }
      const closedAt = expiresAt?.getTime() ?? Date.now()
      await waitFor(() => visitors.every(({ closedCount }) => closedCount > 2))
      await Promise.all(visitors.map((visitor) => visitor.stop()))
      t.same(
        visitors.flatMap(({ unexpected }) => unexpected),
        [],
      )
      t.same(
        visitors.filter(({ lastOpenStart }) => lastOpenStart > closedAt),
        [],
        'no request that started after the link was closed returned the quote',
      )
      for (const visitor of visitors) openCount += visitor.openCount
      for (const { address } of processes)
        for (const format of formats)
          t.equal((await fetch(`${address}/quote/share/${token}?format=${format}`)).status, 410)
    }
    t.ok(openCount > 50, `${openCount} responses showed the quote while its link was open`)
  },
)

const visitorPauseMs = 5

/** Requests a link repeatedly and counts its responses until `stop` is called. */
function startVisitor(url: string) {
  let isStopped = false
  const visitor = {
    openCount: 0,
    closedCount: 0,
    lastOpenStart: 0,
    unexpected: [] as string[],
    /** Resolves after the last response. */
    stop: () => {
      isStopped = true
      return visits
    },
  }
  const visitRepeatedly = async () => {
    while (!isStopped) {
      const startedAt = Date.now()
      const response = await fetch(url)
      await response.arrayBuffer()
      if (response.status === 200) {
        visitor.openCount += 1
        visitor.lastOpenStart = startedAt
      } else if (response.status === 410) visitor.closedCount += 1
      else visitor.unexpected.push(`${url} ${response.status}`)
      // Without a pause the visitors would leave the service no processor time.
      await sleep(visitorPauseMs)
    }
  }
  const visits = visitRepeatedly()
  return visitor
}

async function waitFor(condition: () => boolean): Promise<void> {
  await eventually(async () => condition(), Boolean)
}

t.test(
  'a cached quote returns 410 once its link is revoked, even with If-None-Match (S7, S8)',
  async (t) => {
    const { app, db, url } = await startServiceWithLink(t)
    for (const format of [...formats, ...formats])
      t.equal((await app.inject(`${url}?format=${format}`)).statusCode, 200)
    const { id } = await db.selectFrom('quote_shares').select('id').executeTakeFirstOrThrow()
    await revokeQuoteLink(db, id)
    for (const method of ['GET', 'HEAD'] as const) {
      for (const format of formats) {
        const headers = {
          'if-none-match': '*',
          'if-modified-since': 'Sat, 21 Nov 2099 10:00:00 GMT',
        }
        t.equal(
          (await app.inject({ method, url: `${url}?format=${format}`, headers })).statusCode,
          410,
          `${method} ${format}`,
        )
      }
    }
  },
)

t.test(
  'a request during a truncation of all quotes waits and is then 404, without a deadlock',
  async (t) => {
    const { app, pool, url } = await startServiceWithLink(t)
    const truncating = await pool.connect()
    await truncating.query('begin')
    await truncating.query('lock table quotes in access exclusive mode')
    const opening = app.inject(url)
    await eventually(
      async () =>
        (
          await pool.query(
            `select from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'
               and query like '%read_quote_share(%'`,
          )
        ).rowCount,
      (count) => count === 1,
    )
    // Truncating locks the links too. A query that locks them before the quotes would deadlock.
    await truncating.query('truncate quotes cascade')
    await truncating.query('commit')
    truncating.release()
    t.equal((await opening).statusCode, 404)
  },
)

t.test('a quote whose link is revoked while it is read is not shown (S8)', async (t) => {
  const { app, db } = await startServiceWithLink(t)
  // Reads the document, and revokes the link before the page, JSON or PDF is made of it.
  await sql`
    create or replace function read_quote_share_document(token_hash bytea)
    returns text language plpgsql security definer as $$
    declare
      found_document text;
    begin
      update quote_shares s set revoked_at = now() where s.token_hash = $1
      returning s.document into found_document;
      return found_document;
    end $$`.execute(db)
  for (const format of formats) {
    const token = await createQuoteLink(db, { number: 'P-1' })
    const response = await app.inject(`/quote/share/${token}?format=${format}`)
    t.equal(response.statusCode, 410, format)
    t.notMatch(response.body, 'Martillo')
  }
})
