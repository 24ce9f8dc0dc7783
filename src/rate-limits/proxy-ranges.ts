// Decides what TRUST_PROXY may contain: addresses, networks, and the names of private ranges.
import { isIP, isIPv4 } from 'node:net'

/** The names of ranges that Fastify knows. */
const namedRanges = ['loopback', 'linklocal', 'uniquelocal']

/** Returns whether an entry is an address, a network (10.0.0.0/8) or a range that Fastify knows. */
export function isProxyRange(entry: string): boolean {
  if (namedRanges.includes(entry)) return true
  const [address = '', size, ...rest] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (size === undefined) return true
  if (family === 4 && isIPv4(size)) return isNetmask(size)
  return /^[1-9]\d{0,2}$/.test(size) && Number(size) <= (family === 4 ? 32 : 128)
}

/** Returns whether the bits of the mask are ones followed by zeros, with at least a one. */
function isNetmask(mask: string): boolean {
  const bits = mask.split('.').map((part) => Number(part).toString(2).padStart(8, '0'))
  return /^1+0*$/.test(bits.join(''))
}
