// The headers of every response of a quote link, errors included.
import { pageContentSecurityPolicy } from './page/template-loader.ts'

/** A response must not be stored, indexed, framed or scripted, and its URL must stay private. */
export const linkResponseHeaders = {
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': pageContentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language',
}
