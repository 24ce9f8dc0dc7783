// Trusted proxies: none by default, and warnings about wide ranges and unknown proxies.
// Numbers such as S39 are those of the attacks in docs/security.md.
import t from 'tap'
import { Settings } from '../../src/config/settings-schema.ts'
import { isProxyRange } from '../../src/http/client-address.ts'
import { testService } from '../support/service/test-service.ts'

t.test('a forged X-Forwarded-For is ignored unless a trusted proxy sends it (S39)', async (t) => {
  const proxy = '10.1.2.3'
  const other = '192.0.2.9'
  const otherNetwork = '192.0.2.0/24'
  const visitorNetwork = '198.51.100.0/24'
  /** Sends a request of the visitor through `sender`. Returns the network that the log names. */
  const findLoggedNetwork = async (trusted: string[], sender: string, forwarded: string) => {
    const networks: string[] = []
    const { app } = await testService(t, {
      config: { TRUST_PROXY: trusted },
      log: (line) => networks.push(JSON.parse(line).network),
      index: false,
    })
    const headers = { 'x-forwarded-for': forwarded }
    await app.inject({ url: '/nothing', headers, remoteAddress: sender })
    return networks.at(-1)
  }
  const visitor = '198.51.100.7'
  t.equal(await findLoggedNetwork([proxy], proxy, visitor), visitorNetwork)
  t.equal(await findLoggedNetwork([proxy], proxy, `203.0.113.5, ${visitor}`), visitorNetwork)
  t.equal(await findLoggedNetwork([proxy], other, visitor), otherNetwork)
  t.equal(await findLoggedNetwork([], other, visitor), otherNetwork)
  // proxy-addr 5.1.0 trusts every address because of such a range.
  t.equal(await findLoggedNetwork(['::ffff:10.0.0.0/8'], other, visitor), otherNetwork)
  // Fastify 5.12.0 trusts every sender if this is a number of proxies.
  t.notOk(isProxyRange('1'))
  t.same(Settings.properties.TRUST_PROXY.default, [], 'no proxy is trusted by default')
})

t.test('a range of TRUST_PROXY whose visitors can forge addresses: a warning (S46)', async (t) => {
  const warnings = async (trusted: string[]) => {
    const lines: string[] = []
    await testService(t, {
      config: { TRUST_PROXY: trusted },
      log: (line) => lines.push(line),
      index: false,
    })
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('wide ranges'))
  }
  t.same(
    await warnings(['loopback', '10.1.2.3', '172.18.0.1/32', '192.0.2.0/24', '10.0.0.0/30', '::1']),
    [],
  )
  const wide = [
    'uniquelocal',
    '10.0.0.0/8',
    '192.168.1.0/24',
    '172.16.0.0/24',
    '128.0.0.0/1',
    'fd00::/8',
  ]
  const [warning, ...others] = await warnings(['10.1.2.3', ...wide])
  t.same(warning?.ranges, wide)
  t.same(others, [])
})

t.test('warns once if requests come through a proxy that is not trusted', async (t) => {
  const collectWarnings = async (trusted: string[]) => {
    const lines: string[] = []
    const { app } = await testService(t, {
      config: { TRUST_PROXY: trusted },
      log: (line) => lines.push(line),
      index: false,
    })
    const send = (headers = {}) =>
      app.inject({ url: '/nothing', headers, remoteAddress: '10.1.2.3' })
    const countWarnings = () => lines.filter((line) => line.includes('TRUST_PROXY is empty')).length
    await send()
    t.equal(countWarnings(), 0, 'no header of a proxy')
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip'])
      await send({ [name]: '198.51.100.7' })
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('TRUST_PROXY'))
  }
  const [warning, ...others] = await collectWarnings([])
  t.match(warning, { level: 40, network: '10.1.2.0/24', reqId: String })
  t.notMatch(JSON.stringify(warning), /198\.51\.100|10\.1\.2\.3/)
  t.same(others, [])
  t.same(await collectWarnings(['10.1.2.3']), [])
})
