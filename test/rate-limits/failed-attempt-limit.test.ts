// The limit of failed attempts in a process without Redis.
import { mock } from 'node:test'
import t from 'tap'
import {
  FailedAttemptLimit,
  maxCountedAddresses,
} from '../../src/rate-limits/failed-attempt-limit.ts'

t.test('keeps the count of an address when others fill the memory', async (t) => {
  // The clock stands still in the middle of a window, so that no new one starts.
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 12, 0, 30) })
  t.teardown(() => mock.timers.reset())
  const limit = new FailedAttemptLimit({
    redis: null,
    redisPrefix: 'test:',
    maxPerMinute: 2,
    kind: 'links',
  })
  for (let index = 1; index < maxCountedAddresses; index++)
    await limit.recordAttemptOrReject({
      ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    })
  const guesser = { ip: '192.0.2.1' }
  await limit.recordAttemptOrReject(guesser)
  await limit.recordAttemptOrReject(guesser)
  t.throws(() => limit.rejectIfExceeded(guesser), {
    code: 'rate_limited',
    message:
      'Too many unknown links from your address: the limit is 2 per minute. ' +
      'Try again in 30 seconds.',
    headers: { 'retry-after': '30' },
  })
  await limit.recordAttemptOrReject({ ip: '192.0.2.2' })
  t.throws(() => limit.rejectIfExceeded(guesser), { code: 'rate_limited' })
})
