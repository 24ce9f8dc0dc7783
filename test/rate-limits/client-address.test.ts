// The address by which rate limits count a client.
import t from 'tap'
import { clientAddress } from '../../src/rate-limits/client-address.ts'

t.test('counts an IPv4 address as a whole, also if it is mapped into IPv6', async (t) => {
  t.equal(clientAddress('192.0.2.7'), '192.0.2.7')
  t.equal(clientAddress('::ffff:192.0.2.7'), '192.0.2.7')
})

t.test('counts clients that have disconnected together', async (t) => {
  t.equal(clientAddress(undefined), 'unknown')
})

t.test('counts an IPv6 address by its /64 network', async (t) => {
  t.equal(clientAddress('2001:db8:0:1:aaaa::1'), clientAddress('2001:0db8:0000:0001::2'))
  t.not(clientAddress('2001:db8:0:1::1'), clientAddress('2001:db8:0:2::1'))
  t.equal(clientAddress('::1'), '0:0:0:0::/64')
  t.equal(clientAddress('fe80::1%eth0'), clientAddress('fe80::2'))
  t.equal(clientAddress('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
})
