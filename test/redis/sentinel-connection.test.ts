// The connection through Sentinels while a failover is announced.
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import {
  backoffStepMs,
  firstConnectionTimeout,
  openRedis,
} from '../../src/redis/redis-connection.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

t.test('a failover announced while a Sentinel is asked does not end the connection', async (t) => {
  replaceUntilEnd(t, firstConnectionTimeout, { ms: 1 })
  const sockets: Socket[] = []
  // A Sentinel that is slow to name the primary.
  const sentinel = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => sentinel.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    sentinel.close()
  })
  const { port } = sentinel.address() as { port: number }
  const redis = await openRedis(`redis+sentinel://127.0.0.1:${port}/mymaster`)
  t.teardown(() => redis.disconnect())
  t.ok(await eventually(async () => sockets.length === 1, Boolean), 'it asks')

  // What the driver does when a Sentinel announces another primary.
  const { connector } = redis as unknown as { connector: { disconnect(): void } }
  connector.disconnect()
  sockets[0]?.destroy()
  t.ok(await eventually(async () => sockets.length > 1, Boolean), 'it asks again')

  redis.disconnect()
  const askedCount = sockets.length
  for (const socket of sockets) socket.destroy()
  t.ok(await eventually(async () => redis.status === 'end', Boolean))
  await new Promise((resolve) => setTimeout(resolve, 5 * backoffStepMs))
  t.equal(sockets.length, askedCount, 'a closed connection does not ask')
})
