// Counts the views of a link. Each response with the page, the JSON or the PDF of its quote is a
// view. Programs that check links or show previews do not count if their user agent is known. Under
// load some views are not counted. Nothing about the visitor is stored.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import { DatabaseError } from 'pg'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type TaskLog } from '../../monitoring/log/failure-log.ts'

// The user agents of programs that fetch a link to check it or to show a preview. The lookbehind
// keeps Cubot phones, whose user agent ends a word in "bot", from being taken for bots.
const automatedAgents = new RegExp(
  '^$|(?<!\\bcu)bot\\b|crawl|spider|preview|facebookexternalhit|whatsapp|embedly|curl|wget|' +
    'python|headless|google-(pagerenderer|safety)|viber|vkshare|iframely|claude-user|' +
    'go-http-client|okhttp|axios',
  'i',
)
// Browsers that send Sec-Fetch-Mode over https. Programs that take their names seldom do.
const agentsWithFetchMode = /\b(Chrome|Firefox)\//
const maxConcurrentInserts = 4
const foreignKeyViolation = '23503'

/**
 * Returns whether a request counts: not if it is HEAD, a prefetch, or sent by a known program, or
 * over https by a browser that would say that it opens a page and does not.
 */
export function isHumanView(
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  isHttps: boolean,
): boolean {
  const agent = headers['user-agent'] ?? ''
  const mode = headers['sec-fetch-mode']
  const opensPage =
    mode === undefined ? !(isHttps && agentsWithFetchMode.test(agent)) : mode === 'navigate'
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose']]
  return (
    method === 'GET' &&
    !/prefetch|prerender|preview/i.test(purposes.join(' ')) &&
    opensPage &&
    !automatedAgents.test(agent)
  )
}

/**
 * Returns a function that records a view in the background. While `maxConcurrentInserts` inserts
 * are running, further views are not counted, so counting cannot exhaust the connection pool. A
 * failure is logged once per cause.
 */
export function createViewCounter(db: Kysely<Tables>, log: TaskLog): (linkId: string) => void {
  const failureLog = new FailureLog(log, {
    failure: (cause) => `Views of quote links cannot be counted (${cause})`,
    recovery: 'Views of quote links are counted again',
  })
  let runningInserts = 0
  return (linkId) => {
    if (runningInserts >= maxConcurrentInserts) return
    runningInserts += 1
    db.insertInto('quote_share_views')
      .values({ share_id: linkId })
      .execute()
      .then(
        () => failureLog.logSuccess(),
        (error: unknown) => {
          if (!isDeletedLink(error)) failureLog.logFailure(error)
        },
      )
      .finally(() => {
        runningInserts -= 1
      })
  }
}

/** Whether the link was deleted after it had been read. */
const isDeletedLink = (error: unknown) =>
  error instanceof DatabaseError && error.code === foreignKeyViolation
