// The response headers of files below /web/ and of the pages / and /dashboard: caching, search
// engines, frames.
import { pageContentSecurityPolicy } from './page-content-security-policy.ts'

/** The Cache-Control of files. A URL with the version of its file never changes its content. */
export const cacheForAYear = 'public, max-age=31536000, immutable'
export const revalidate = 'public, no-cache'

/** Pages forbid frames, search engines, and the Referer header of outgoing links. */
export const pageHeaders = {
  'cache-control': 'private, no-cache',
  'content-security-policy': pageContentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding, accept-language',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}
