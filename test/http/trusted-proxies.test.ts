// Trusted proxies: none by default, and warnings about wide ranges and unknown proxies.
// Numbers such as S39 are those of the attacks in docs/security.md.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Settings } from '../../src/config/settings-schema.ts'
import { testService } from '../support/service/test-service.ts'

t.test(
  'uses versions of Fastify and proxy-addr without the flaw, and trusts no proxy (S39)',
  async (t) => {
    for (const [name, minVersion] of [
      ['fastify', [5, 12, 1]],
      ['@fastify/proxy-addr', [5, 1, 1]],
    ] as const) {
      const file = join(import.meta.dirname, '../../node_modules', name, 'package.json')
      const version = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
        .split('.')
        .map(Number)
      const [major = 0, minor = 0, patch = 0] = version
      t.ok(
        major * 1e6 + minor * 1e3 + patch >=
          minVersion[0] * 1e6 + minVersion[1] * 1e3 + minVersion[2],
        `${name} ${version.join('.')}`,
      )
    }
    t.same(Settings.properties.TRUST_PROXY.default, [])
  },
)

t.test('warns at the start about wide ranges in TRUST_PROXY (S46)', async (t) => {
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
    '172.16.0.0/255.255.255.0',
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
