// The headers of every response of a quote link, errors included.
import { pageContentSecurityPolicy } from '../page/template-loader.ts'

/**
 * No response may be stored, indexed, framed or run scripts. No referrer is sent, because the URL
 * contains the token.
 */
export const linkResponseHeaders = {
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': pageContentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language, Accept-Encoding',
}
