// Counts how often a link is opened. Counting is best effort and stores nothing about the visitor.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

// The user agents of programs that fetch a link to check it or to show a preview.
const automatedAgents =
  /bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|embedly|curl|wget|python|headless/i
const maxConcurrentInserts = 4

/** Returns false for HEAD requests, prefetches and known programs. */
export function isHumanView({
  method,
  headers,
}: {
  method: string
  headers: IncomingHttpHeaders
}): boolean {
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose']]
  return (
    method === 'GET' &&
    !/prefetch|prerender|preview/i.test(purposes.join(' ')) &&
    !automatedAgents.test(headers['user-agent'] ?? '')
  )
}

/**
 * Returns a function that records a view in the background. While four inserts are running, further
 * views are not counted, so counting cannot exhaust the connection pool.
 */
export function createViewCounter(db: Kysely<Tables>): (shareId: string) => void {
  let runningInserts = 0
  return (shareId) => {
    if (runningInserts >= maxConcurrentInserts) return
    runningInserts += 1
    db.insertInto('quote_share_views')
      .values({ share_id: shareId })
      .execute()
      // Not logged: the link may have been deleted meanwhile. If PostgreSQL is unreachable,
      // requests for links log it.
      .catch(() => undefined)
      .finally(() => {
        runningInserts -= 1
      })
  }
}
