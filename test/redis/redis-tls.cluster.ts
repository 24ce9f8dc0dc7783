// rediss:// with a certificate of the operator's own authority, which NODE_EXTRA_CA_CERTS names.
import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { startRedisServer } from '../support/servers/redis-topologies.ts'
import { startApi, testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const directory = createTemporaryDirectory(t, 'tls')

const file = (name: string) => join(directory, name)
const openssl = (...words: string[]) =>
  execFileSync('openssl', words, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })

/** Creates an authority and a certificate for 127.0.0.1 that it has signed. */
function createCertificates(): void {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const days = ['-days', '2']
  openssl(
    'req',
    '-x509',
    ...newKey,
    ...days,
    '-subj',
    '/CN=Test CA',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
  )
  openssl('req', ...newKey, '-subj', '/CN=redis', '-keyout', 'redis.key', '-out', 'redis.csr')
  writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1\n')
  openssl(
    ...['x509', '-req', '-in', 'redis.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...[...days, '-extfile', 'names', '-out', 'redis.crt'],
  )
  // Redis may run under another account.
  chmodSync(file('redis.key'), 0o644)
}

t.test('TLS to Redis with an authority of the operator', async (t) => {
  createCertificates()
  const port = await chooseFixedPort()
  await startRedisServer(t, [
    'save ""',
    `tls-port ${port}`,
    `tls-cert-file ${file('redis.crt')}`,
    `tls-key-file ${file('redis.key')}`,
    `tls-ca-cert-file ${file('ca.crt')}`,
    'tls-auth-clients no',
  ])
  const service = await testService(t, { index: false })
  const start = (env: Record<string, string>) =>
    startApi(t, service, { REDIS_URL: `rediss://127.0.0.1:${port}`, LOG_LEVEL: 'info', ...env })
  const [trusting, other] = await Promise.all([
    start({ NODE_EXTRA_CA_CERTS: file('ca.crt') }),
    start({}),
  ])
  const redisOf = async (opsUrl: string) => {
    const ready = (await (await fetch(`${opsUrl}/health/ready`)).json()) as {
      checks: { redis: string }
    }
    return ready.checks.redis
  }
  t.equal(
    await eventually(
      () => redisOf(trusting.opsUrl),
      (redis) => redis === 'up',
    ),
    'up',
  )
  t.equal(await redisOf(other.opsUrl), 'down')
  const reason = /Redis is unreachable.*(self-signed certificate|unable to verify)/
  const output = await eventually(
    async () => other.output(),
    (text) => reason.test(text),
  )
  t.match(output, reason, 'the log says why')
  t.notMatch(trusting.output(), 'unreachable')
})
