// What a request gets if counting it fails because of a defect.
import t from 'tap'
import { createStoreClass } from '../../src/rate-limits/rate-limit-store.ts'
import { OptionalRedis } from '../../src/redis/optional-redis.ts'

t.test('a defect while counting fails the request instead of leaving it waiting', async (t) => {
  const defect = new Error('a defect')
  const { run } = OptionalRedis.prototype
  OptionalRedis.prototype.run = async () => {
    throw defect
  }
  t.teardown(() => {
    OptionalRedis.prototype.run = run
  })
  const Store = createStoreClass(null, 'test:')
  const error = await new Promise((resolve) => {
    new Store().incr('192.0.2.1', resolve, 60_000, 10)
  })
  t.equal(error, defect)
})
