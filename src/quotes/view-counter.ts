// Counting how often a link is opened: beside the answer, best effort, and nothing about who opened it.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'

// Programs that fetch a link to show a preview of it, or to check it, before anybody opens it.
const machines =
  /bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|embedly|curl|wget|python|headless/i
const mostAtOnce = 4

/** Whether a person may be behind a request: not a HEAD, a prefetch or a program that says what it is. */
export function isView({
  method,
  headers,
}: {
  method: string
  headers: IncomingHttpHeaders
}): boolean {
  const purpose = `${headers['sec-purpose'] ?? ''} ${headers.purpose ?? ''} ${headers['x-purpose'] ?? ''}`
  return (
    method === 'GET' &&
    !/prefetch|prerender|preview/i.test(purpose) &&
    !machines.test(headers['user-agent'] ?? '')
  )
}

/** Returns a function that records a view without being waited for. Views beyond what the database takes at once are not counted. */
export function viewCounter(db: Kysely<Tables>): (shareId: string) => void {
  let underWay = 0
  return (shareId) => {
    if (underWay >= mostAtOnce) return
    underWay += 1
    db.insertInto('quote_share_views')
      .values({ share_id: shareId })
      .execute()
      // The link may be gone by now, or the database: a view is not worth an error.
      .catch(() => undefined)
      .finally(() => {
        underWay -= 1
      })
  }
}
