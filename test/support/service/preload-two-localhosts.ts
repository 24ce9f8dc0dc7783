// Gives `localhost` an IPv4 and an IPv6 address in a program that a test starts, as most machines
// do.
import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns'

type Lookup = (
  host: string,
  options: LookupAllOptions,
  done: (error: null, addresses: LookupAddress[]) => void,
) => void

const lookup = dns.lookup as Lookup
const lookUpBoth: Lookup = (host, options, done) => {
  if (host !== 'localhost' || !options.all) return lookup(host, options, done)
  done(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
}
dns.lookup = lookUpBoth as typeof dns.lookup
