// The address by which rate limits count a client.
import t from 'tap'
import { getCountedAddress } from '../../src/http/client-address.ts'

t.test('counts whole IPv4 addresses, even if they are mapped into IPv6', async (t) => {
  t.equal(getCountedAddress('192.0.2.7'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:192.0.2.7'), '192.0.2.7')
})

t.test('ignores the port, which some proxies add to X-Forwarded-For', async (t) => {
  t.equal(getCountedAddress('192.0.2.7:50123'), '192.0.2.7')
  t.equal(getCountedAddress('::ffff:192.0.2.7:50123'), '192.0.2.7')
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
