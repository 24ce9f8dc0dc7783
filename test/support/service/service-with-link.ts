// A service with a quote link, for tests of what a visitor gets.
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { addQuote } from '../database/add-quote.ts'
import { type TestService, testService } from './test-service.ts'

/** The day on which the services of these tests are. */
export const today = '2026-11-21'

/** Returns the path of an unknown link, a different one for each number. */
export const getUnknownLinkPath = (n: number) => `/quote/share/${String(n).padStart(43, 'x')}`

/** Starts a service with the quote P-1 and a link to it. It has no search index. */
export async function startServiceWithLink(
  t: Parameters<typeof testService>[0],
  options: Parameters<typeof testService>[1] = {},
): Promise<TestService & { url: string; token: string }> {
  const clock = () => new Date(`${today}T10:00:00Z`)
  const service = await testService(t, { clock, index: false, ...options })
  await addQuote(service.db, 'P-1')
  const token = await createQuoteLink(service.db, { number: 'P-1' })
  return { ...service, token, url: `/quote/share/${token}` }
}
