// The address by which rate limits count a client.
import t from 'tap'
import { getClientAddress } from '../../src/rate-limits/client-address.ts'

t.test('counts whole IPv4 addresses, even if they are mapped into IPv6', async (t) => {
  t.equal(getClientAddress('192.0.2.7'), '192.0.2.7')
  t.equal(getClientAddress('::ffff:192.0.2.7'), '192.0.2.7')
})

t.test('counts clients that have disconnected together', async (t) => {
  t.equal(getClientAddress(undefined), 'unknown')
})

t.test('counts an IPv6 address by its /64 network', async (t) => {
  t.equal(getClientAddress('2001:db8:0:1:aaaa::1'), getClientAddress('2001:0db8:0000:0001::2'))
  t.not(getClientAddress('2001:db8:0:1::1'), getClientAddress('2001:db8:0:2::1'))
  t.equal(getClientAddress('::1'), '0:0:0:0::/64')
  t.equal(getClientAddress('fe80::1%eth0'), getClientAddress('fe80::2'))
  t.equal(getClientAddress('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
})
