// How an address is counted by limits, and which part of it logs and metrics may contain.
import { LRUCache } from 'lru-cache'

/** A /64 network is the first 4 of the 8 groups, of 16 bits each, of an IPv6 address. */
const countedGroups = 4
/** The groups of a /48 network. Providers assign at least a /48 to a company. */
const loggedGroups = 3

/**
 * Returns the address by which a client is counted. For IPv4, even if mapped into IPv6, that is the
 * whole address. For IPv6 it is the /64 network, because providers assign at least a /64 to each
 * customer. Fastify's `request.ip` is undefined for a client that has disconnected, although its
 * type says otherwise. All these clients are counted as `unknown`.
 */
export function getCountedAddress(ip: string | undefined): string {
  if (ip === undefined) return 'unknown'
  if (!ip.includes(':')) return ip
  const address = removePort(ip)
  if (!address.includes(':')) return address
  const groups = expandIpv6(address)
  return findMappedIpv4(groups) ?? `${groups.slice(0, countedGroups).join(':')}::/64`
}

/** A cache, because every request needs its network and most come from a few addresses. */
const loggedNetworks = new LRUCache<string, string>({ max: 1_000 })

/**
 * Returns the network of an address, for logs and metrics, which must not identify a person: the
 * /24 of an IPv4 address, or the /48 of an IPv6 address.
 */
export function getLoggedNetwork(ip: string | undefined): string {
  const known = loggedNetworks.get(ip ?? '')
  if (known !== undefined) return known
  const network = computeLoggedNetwork(getCountedAddress(ip))
  loggedNetworks.set(ip ?? '', network)
  return network
}

function computeLoggedNetwork(address: string): string {
  if (address.includes(':')) return `${address.split(':').slice(0, loggedGroups).join(':')}::/48`
  const end = address.lastIndexOf('.')
  return end === -1 ? address : `${address.slice(0, end)}.0/24`
}

/**
 * Returns the address without its port and brackets. Some proxies write the port of the client into
 * X-Forwarded-For (`192.0.2.1:50123` or `[2001:db8::1]:50123`). With it, each connection would be
 * another client.
 */
function removePort(ip: string): string {
  const [, address = ip] = /^\[(.+)\](?::\d+)?$/.exec(ip) ?? /^(.*\.\d+):\d+$/.exec(ip) ?? []
  return address
}

/**
 * Returns the eight groups of an IPv6 address without leading zeros and zone (`%eth0`). The last
 * two may be written as an IPv4 address (`::ffff:192.0.2.1`).
 */
function expandIpv6(ip: string): string[] {
  const [address = ''] = ip.split('%')
  const [left = [], right = []] = address
    .replace(/\d+\.\d+\.\d+\.\d+$/, toTwoGroups)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''))
  const omitted = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...omitted, ...right].map((group) => Number.parseInt(group, 16).toString(16))
}

function toTwoGroups(ipv4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

/** Returns the IPv4 address that is mapped into an IPv6 address (`::ffff:c000:201`), or null. */
function findMappedIpv4(groups: string[]): string | null {
  const [, high, low] = /^0:0:0:0:0:ffff:(\w+):(\w+)$/.exec(groups.join(':')) ?? []
  if (high === undefined || low === undefined) return null
  return [high, low]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((bits) => [bits >> 8, bits & 255])
    .join('.')
}
