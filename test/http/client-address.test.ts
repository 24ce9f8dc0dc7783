// The address by which limits count a client, and the network that logs contain.
import t from 'tap'
import { getCountedAddress, getLoggedNetwork } from '../../src/http/client-address.ts'

t.test('counts IPv4 addresses and /64 networks, and logs /24 and /48 networks', async (t) => {
  for (const [counted, logged, ...addresses] of [
    [
      '192.0.2.7',
      '192.0.2.0/24',
      '192.0.2.7',
      '::ffff:192.0.2.7',
      '::ffff:c000:207',
      '0:0:0:0:0:FFFF:C000:0207',
      // Some proxies add the port of the client to X-Forwarded-For.
      '192.0.2.7:50123',
      '::ffff:192.0.2.7:50123',
      '[::ffff:192.0.2.7]:50123',
      '[::ffff:c000:207]:50123',
    ],
    ['255.255.255.255', '255.255.255.0/24', '::ffff:255.255.255.255'],
    [
      '2001:db8:0:1::/64',
      '2001:db8:0::/48',
      '2001:db8:0:1:aaaa::1',
      '2001:0db8:0000:0001::2',
      '[2001:db8:0:1::1]:50123',
      '[2001:db8:0:1::1]',
    ],
    ['2001:db8:1:2::/64', '2001:db8:1::/48', '2001:db8:1:2:3:4:5:6'],
    ['0:0:0:0::/64', '0:0:0::/48', '::1'],
    ['fe80:0:0:0::/64', 'fe80:0:0::/48', 'fe80::1%eth0', 'fe80::2'],
    // A client that has disconnected has no address. A proxy may send anything.
    ['unknown', 'unknown', undefined, '', 'unknown', '1', '0x7f.1', '[::1', '::g'],
  ])
    for (const address of addresses) {
      t.equal(getCountedAddress(address), counted, String(address))
      t.equal(getLoggedNetwork(address), logged, String(address))
    }
})
