// The headers of every response of a quote link, errors included.
import type { Brand } from '../../company/brand.ts'
import { noStore } from '../../http/common-headers.ts'
import { buildContentSecurityPolicy } from '../page/brand-style.ts'

/**
 * No response may be stored, indexed, framed or run scripts. No referrer is sent, because the URL
 * contains the token.
 */
export const createLinkResponseHeaders = (brand: Brand) => ({
  'cache-control': noStore,
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': buildContentSecurityPolicy(brand),
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language, Accept-Encoding',
})
