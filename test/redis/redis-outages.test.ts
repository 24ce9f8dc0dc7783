// The log lines about Redis.
import t from 'tap'
import { OptionalRedis, observeRedis, redisRecovery } from '../../src/redis/optional-redis.ts'
import { openRedis, redisSilence } from '../../src/redis/redis-connection.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

t.test('a Redis that hangs is logged once, and once that it answers again', async (t) => {
  replaceUntilEnd(t, redisSilence, { ms: 500 })
  replaceUntilEnd(t, redisRecovery, { ms: 0 })
  const { redisUrl } = await servers()
  const proxy = await startFaultyProxy(t, redisUrl)
  const redis = await openRedis(proxy.url)
  t.teardown(() => redis.disconnect())
  const lines: string[] = []
  const log = { warn: (text: string) => lines.push(text), info: (text: string) => lines.push(text) }
  const optional = new OptionalRedis(observeRedis(redis, log), 0)
  const sendCommand = async () => (await optional.run(1_000, () => redis.ping())) !== null
  t.equal(await sendCommand(), true)
  proxy.stopForwarding()
  const countLines = async () => {
    await sendCommand()
    return lines.length
  }
  t.equal(await eventually(countLines, (count) => count > 0), 1)
  t.match(lines[0], /^Redis is unreachable \(.*: each process caches and limits/)
  proxy.restore()
  t.ok(await eventually(sendCommand, Boolean), 'it is used again')
  t.match(lines.at(-1), /^Redis is reachable again/)
})
