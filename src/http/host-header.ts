// Rejects requests whose Host header names an unknown host. Node rejects those without one.
import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Problem } from './problem-details.ts'

type HostOptions = {
  publicBaseUrl: string
  /** Further host names, or `*` for all. */
  allowedHosts: string[]
  /** Whether any IP address is allowed, because the address of the service is unknown. */
  allowsAddresses: boolean
}

/**
 * Answers 421 if the Host is not allowed. Allowed are the host of the public URL, the hosts in
 * `allowedHosts` and loopback names. Without this check, another site could point its own name at
 * this service (DNS rebinding) and read what callers without a key may read. That attack needs a
 * name: an address in the Host is that of the service itself. HTTP/1.0 requests need no Host.
 */
export function rejectOtherHosts(app: FastifyInstance, options: HostOptions): void {
  const isAllowed = createHostCheck(options)
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    done(isAllowed(headers.host) ? undefined : createOtherHostProblem())
  })
}

function createOtherHostProblem(): Problem {
  return new Problem(
    'misdirected_request',
    'This service does not answer under this host name. ' +
      'The operator can allow the name with ALLOWED_HOSTS.',
  )
}

/** What the log says at the start if no setting names the host of the service. */
export function unknownHostWarning(publicBaseUrl: string): string {
  return (
    'PUBLIC_BASE_URL names no host, and the service listens on every address of this machine. ' +
    `Its links begin with ${publicBaseUrl} and open on this machine only. Requests under an IP ` +
    'address are answered, and under a name with 421. ' +
    'Set PUBLIC_BASE_URL to the address that callers use.'
  )
}

/** Returns a function that checks whether a Host is allowed, on any port. */
function createHostCheck({ publicBaseUrl, allowedHosts, allowsAddresses }: HostOptions) {
  const names = new Set([new URL(publicBaseUrl).hostname, ...allowedHosts.map(toRequestedName)])
  if (names.has('*')) return () => true
  return (host: string | undefined): boolean => {
    if (host === undefined) return true
    const name = getHostName(host)
    return names.has(name) || isLoopbackName(name) || (allowsAddresses && isAddress(name))
  }
}

/**
 * Returns the host name of a Host header in lower case, without the port and a final dot. An IPv6
 * address is in its short form.
 */
function getHostName(host: string): string {
  if (host.startsWith('[')) return URL.parse(`http://${host}`)?.hostname ?? host
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}

/**
 * Returns an entry of ALLOWED_HOSTS as browsers write it in Host: an international name in ASCII,
 * and IPv6 in brackets. The entry may lack the brackets.
 */
function toRequestedName(entry: string): string {
  const host = isIPv6(entry) ? `[${entry}]` : entry
  return getHostName(URL.parse(`http://${host}`)?.hostname ?? host)
}

/** IPv6 addresses are in brackets. */
function isAddress(name: string): boolean {
  return isIPv4(name) || (name.startsWith('[') && isIPv6(name.slice(1, -1)))
}

export function isLoopbackName(name: string): boolean {
  return name === '[::1]' || /^(.+\.)?localhost$|^127(\.\d{1,3}){3}$/.test(name)
}
