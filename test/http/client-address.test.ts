// The address by which rate limits count a client, and the network that logs contain.
import t from 'tap'
import { getCountedAddress, getLoggedNetwork } from '../../src/http/client-address.ts'

t.test('counts whole IPv4 addresses, even if they are mapped into IPv6', async (t) => {
  t.equal(getCountedAddress('192.0.2.7'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:c000:207'), '192.0.2.7')
  t.equal(getCountedAddress('0:0:0:0:0:FFFF:C000:0207'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:0:0'), '0.0.0.0')
  t.equal(getCountedAddress('::ffff:255.255.255.255'), '255.255.255.255')
})

t.test('logs the network of an IPv4 address, even if it is mapped into IPv6', async (t) => {
  for (const ip of ['192.0.2.7', '::ffff:c000:207', '[::ffff:192.0.2.7]:50123'])
    t.equal(getLoggedNetwork(ip), '192.0.2.0/24', ip)
})

t.test('ignores the port, which some proxies add to X-Forwarded-For', async (t) => {
  t.equal(getCountedAddress('192.0.2.7:50123'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:192.0.2.7:50123'), '192.0.2.7')
  t.equal(getCountedAddress('[::ffff:192.0.2.7]:50123'), '192.0.2.7')
  t.equal(getCountedAddress('[::ffff:c000:207]:50123'), '192.0.2.7')
  t.equal(getCountedAddress('[2001:db8::1]:50123'), getCountedAddress('2001:db8::1'))
  t.equal(getCountedAddress('[2001:db8::1]'), getCountedAddress('2001:db8::1'))
})

t.test('counts clients that have disconnected together', async (t) => {
  t.equal(getCountedAddress(undefined), 'unknown')
})

t.test('counts an IPv6 address by its /64 network', async (t) => {
  t.equal(getCountedAddress('2001:db8:0:1:aaaa::1'), getCountedAddress('2001:0db8:0000:0001::2'))
  t.not(getCountedAddress('2001:db8:0:1::1'), getCountedAddress('2001:db8:0:2::1'))
  t.equal(getCountedAddress('::1'), '0:0:0:0::/64')
  t.equal(getCountedAddress('fe80::1%eth0'), getCountedAddress('fe80::2'))
  t.equal(getCountedAddress('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
})
