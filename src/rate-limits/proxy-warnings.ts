// Warns if requests come through a proxy while TRUST_PROXY is empty, and if TRUST_PROXY contains
// wide ranges.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { shortenAddress } from './client-address.ts'

const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

/**
 * Logs one warning at the first request with headers of a proxy. The service ignores the headers
 * themselves, because any client can send them.
 */
export function warnAboutUntrustedProxies(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasWarned || !proxyHeaders.some((name) => request.headers[name] !== undefined))
      return done()
    hasWarned = true
    request.log.warn(
      { network: shortenAddress(request.ip) },
      'a request came through a proxy, but TRUST_PROXY is empty: all its visitors are counted as ' +
        'one address. If the proxy is yours, add it to TRUST_PROXY.',
    )
    done()
  })
}

/**
 * The shortest prefixes without a warning. Smaller networks are probably a few proxies. A private
 * network must be even smaller, because one of 256 addresses is probably an office.
 */
const narrowPrefix = { ipv4: 24, ipv6: 120, private: 30 }
const privateIpv4 = /^(10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)\./
/** Named ranges of @fastify/proxy-addr that may contain addresses of visitors. */
const wideNames = ['uniquelocal', 'linklocal']

/**
 * Warns once at the start if TRUST_PROXY contains wide ranges. Every visitor in such a range, for
 * example another machine in the same LAN, can forge its address and evade the limits per address.
 */
export function warnAboutWideRanges(log: FastifyBaseLogger, trustedProxies: string[]): void {
  const ranges = trustedProxies.filter(isWide)
  if (ranges.length === 0) return
  log.warn(
    { ranges },
    'TRUST_PROXY contains wide ranges: any visitor from them can forge its address. Name the ' +
      'exact addresses of your proxies instead.',
  )
}

function isWide(entry: string): boolean {
  if (wideNames.includes(entry)) return true
  const [address = '', prefix] = entry.split('/')
  if (prefix === undefined) return false
  const isIpv6 = address.includes(':')
  // A prefix may be written as a netmask, such as 255.255.0.0.
  const bits = prefix.includes('.') ? countBits(prefix) : Number(prefix)
  if (isIpv6) return bits < narrowPrefix.ipv6
  return bits < (privateIpv4.test(address) ? narrowPrefix.private : narrowPrefix.ipv4)
}

/** Returns 24 for the netmask 255.255.255.0. */
function countBits(netmask: string): number {
  const bits = netmask.split('.').map((part) => Number(part).toString(2))
  return bits.join('').replaceAll('0', '').length
}
