// The waiting times of the rate limits.
import type { WaitingTime } from './waiting-time.ts'

export const rateLimitsTimeouts = {
  redisPause: {
    ms: 1_000,
    what: 'Pause after Redis failed to count a request',
    why: 'Without it every request of an outage would wait for Redis.',
    afterwards: 'Redis is tried again.',
  },
} satisfies Record<string, WaitingTime>
