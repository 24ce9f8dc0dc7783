// The address of a client: which proxies may state it (TRUST_PROXY), how limits count it, and
// which part of it logs contain.
import { isIP } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** A /64 network is the first 4 of the 8 groups, of 16 bits each, of an IPv6 address. */
const countedGroups = 4
/** The groups of a /48 network. Providers assign at least a /48 to a company. */
const loggedGroups = 3
/** What an address is counted as that nobody can read, or whose client has disconnected. */
const unknownAddress = 'unknown'

/**
 * Returns the address by which a client is counted. For IPv4, even if mapped into IPv6, that is the
 * whole address. For IPv6 it is the /64 network, because providers assign at least a /64 to each
 * customer. Fastify's `request.ip` is undefined for a client that has disconnected, although its
 * type says otherwise.
 */
export function getCountedAddress(ip: string | undefined): string {
  return describe(ip).counted
}

/**
 * Returns the network of an address, for logs, which must not identify a person: the /24 of an IPv4
 * address, or the /48 of an IPv6 address.
 */
export function getLoggedNetwork(ip: string | undefined): string {
  return describe(ip).logged
}

type Described = { counted: string; logged: string }

/** Most requests come from a few addresses, and parsing one takes a third of a cached search. */
const described = new LRUCache<string, Described>({ max: 1_000 })

function describe(ip = ''): Described {
  const known = described.get(ip)
  if (known) return known
  const added = describeAddress(parseAddress(ip))
  described.set(ip, added)
  return added
}

function describeAddress(address: IPv4 | IPv6 | null): Described {
  if (address === null) return { counted: unknownAddress, logged: unknownAddress }
  if (isVersion6(address))
    return {
      counted: formatNetwork(address, countedGroups),
      logged: formatNetwork(address, loggedGroups),
    }
  const network = address.octets.slice(0, 3).join('.')
  return { counted: address.toString(), logged: `${network}.0/24` }
}

/**
 * Returns null for what is no address. Some proxies write the port of the client into
 * X-Forwarded-For (`192.0.2.1:50123` or `[2001:db8::1]:50123`). With it, each connection would be
 * another client.
 */
function parseAddress(ip: string): IPv4 | IPv6 | null {
  const [, address = ip] = /^\[(.+)\](?::\d+)?$/.exec(ip) ?? /^(.*\.\d+):\d+$/.exec(ip) ?? []
  // ipaddr.js also reads `1` and `0x7f.1`. `process` returns the IPv4 address in a mapped one.
  return isIP(address) === 0 ? null : ipaddr.process(address)
}

const isVersion6 = (address: IPv4 | IPv6): address is IPv6 => address.kind() === 'ipv6'

function formatNetwork({ parts }: IPv6, groups: number): string {
  const start = parts.slice(0, groups).map((part) => part.toString(16))
  return `${start.join(':')}::/${16 * groups}`
}

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

/** Returns whether an entry is an address, a network (10.0.0.0/8) or a range that Fastify knows. */
export function isProxyRange(entry: string): boolean {
  return Object.hasOwn(namedRanges, entry) || parseNetwork(entry) !== null
}

function parseNetwork(entry: string): [address: IPv4 | IPv6, prefixBits: number] | null {
  const [address = '', size] = entry.split('/')
  const version = isIP(address)
  if (version === 0) return null
  const network = size === undefined ? `${entry}/${version === 6 ? 128 : 32}` : entry
  // Fastify rejects the prefix 0.
  return ipaddr.isValidCIDR(network) && Number(size) !== 0 ? ipaddr.parseCIDR(network) : null
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
  if (network === null) return false
  const [address, prefixBits] = network
  if (isVersion6(address)) return prefixBits < minPrefixBits.ipv6
  const isPrivate = ['private', 'linkLocal'].includes(address.range())
  return prefixBits < (isPrivate ? minPrefixBits.private : minPrefixBits.ipv4)
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
