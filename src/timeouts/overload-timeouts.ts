// The waiting times of the overload protection.
import type { WaitingTime } from './waiting-time.ts'

export const overloadTimeouts = {
  queue: {
    ms: 100,
    what: 'A search in the queue of the concurrency limit, unless no engine could be asked',
    why: 'A burst is over by then, and queue plus engine take less than half a second.',
    afterwards: '503.',
  },
  retryAfter: {
    ms: 1_000,
    what: 'The Retry-After of a request that was rejected because of overload',
    why: 'A burst is over by then.',
    afterwards: 'The client may repeat the request.',
  },
  recentRejection: {
    ms: 100,
    what: 'Time after a rejection in which the process counts as overloaded',
    why: 'A long queue helps with a burst, but in lasting overload it makes every answer late.',
    afterwards: 'The whole queue is available again.',
  },
  eventLoopSample: {
    ms: 500,
    what: 'Between two measurements of the delay of the event loop',
    why: 'Long enough to average out single slow requests.',
    afterwards: 'The measured delay is replaced.',
  },
  logInterval: {
    ms: 10_000,
    what: 'Between two log lines about rejected requests',
    why: 'It has the number of all rejections. Of many, not each has a line of its own.',
    afterwards: 'One line with the number of rejections is logged.',
  },
} satisfies Record<string, WaitingTime>
