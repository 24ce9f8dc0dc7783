// Trusted proxies: what TRUST_PROXY may contain. Warns if it contains wide ranges, and if it is
// empty although requests come through a proxy.
import { isIP, isIPv4 } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { getLoggedNetwork } from './client-address.ts'

/** The ranges that Fastify knows by name, and whether visitors may have an address in them. */
const namedRanges: Record<string, { isWide: boolean }> = {
  loopback: { isWide: false },
  linklocal: { isWide: true },
  uniquelocal: { isWide: true },
}

/**
 * The bits of the shortest prefixes without a warning. Smaller networks are probably a few proxies.
 * A private network must be even smaller. A private /24 is usually an office network, whose
 * machines are visitors and not proxies.
 */
const minPrefixBits = { ipv4: 24, ipv6: 120, private: 30 }
const privateIpv4 = /^(10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)\./

/** Returns whether an entry is an address, a network (10.0.0.0/8) or a range that Fastify knows. */
export function isProxyRange(entry: string): boolean {
  return Object.hasOwn(namedRanges, entry) || parseNetwork(entry) !== null
}

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
  const named = namedRanges[entry]
  if (named) return named.isWide
  const network = parseNetwork(entry)
  if (!network) return false
  const { address, isIpv6, prefix } = network
  if (isIpv6) return prefix < minPrefixBits.ipv6
  return prefix < (privateIpv4.test(address) ? minPrefixBits.private : minPrefixBits.ipv4)
}

type Network = { address: string; isIpv6: boolean; prefix: number }

function parseNetwork(entry: string): Network | null {
  const [address = '', size, ...rest] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return null
  const isIpv6 = family === 6
  const longest = isIpv6 ? 128 : 32
  const prefix = size === undefined ? longest : parsePrefix(size, isIpv6)
  return prefix !== null && prefix <= longest ? { address, isIpv6, prefix } : null
}

function parsePrefix(size: string, isIpv6: boolean): number | null {
  if (/^[1-9]\d{0,2}$/.test(size)) return Number(size)
  if (isIpv6 || !isIPv4(size)) return null
  const bits = size.split('.').map((part) => Number(part).toString(2).padStart(8, '0'))
  return /^(1+)0*$/.exec(bits.join(''))?.[1]?.length ?? null
}

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
      { network: getLoggedNetwork(request.ip) },
      'a request came through a proxy, but TRUST_PROXY is empty: all its visitors are counted as ' +
        'one address. If the proxy is yours, add it to TRUST_PROXY.',
    )
    done()
  })
}
