// The log lines about Redis.
import t from 'tap'
import { openRedis, redisSilence } from '../../src/redis/redis-connection.ts'
import { RedisOutageLog } from '../../src/redis/redis-outage-log.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

t.test('a Redis that hangs is logged once, and once that it answers again', async (t) => {
  replaceUntilEnd(t, redisSilence, { ms: 500 })
  const { redisUrl } = await servers()
  const proxy = await startFaultyProxy(t, redisUrl)
  const redis = await openRedis(proxy.url)
  t.teardown(() => redis.disconnect())
  const lines: string[] = []
  const log = { warn: (text: string) => lines.push(text), info: (text: string) => lines.push(text) }
  const outages = new RedisOutageLog(redis, log, { countRefusal() {}, countTimeout() {} })
  t.teardown(() => outages.stop())
  const sendCommand = () =>
    redis.ping().then(
      () => true,
      () => false,
    )
  t.equal(await sendCommand(), true)
  proxy.stopForwarding()
  const countLines = async () => {
    await sendCommand()
    return lines.length
  }
  t.equal(await eventually(countLines, (count) => count > 0), 1)
  t.match(lines[0], /^Redis is unreachable \(Socket timeout.*: each process caches and limits/)
  proxy.restore()
  t.ok(await eventually(sendCommand, Boolean), 'it is used again')
  t.match(lines.slice(1), [/^Redis is reachable again/])
})
