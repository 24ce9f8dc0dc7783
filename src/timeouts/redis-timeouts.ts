// The waiting times of Redis.
import type { WaitingTime } from './waiting-time.ts'

export const redisTimeouts = {
  connect: {
    ms: 1_000,
    what: 'A connection to Redis',
    why: 'The service works without Redis.',
    afterwards: 'The connection is tried again after the backoff.',
  },
  command: {
    ms: 250,
    what: 'A command of Redis',
    why: 'Redis answers in under a millisecond. Computing is faster than a longer wait.',
    afterwards: 'Each process limits and computes on its own.',
  },
  silence: {
    ms: 5_000,
    what: 'A connection on which Redis sends nothing while commands wait',
    why: 'A host without power closes no connection. TCP would notice that after 15 minutes.',
    afterwards:
      'The connection is closed and opened again. The log says that Redis is unreachable.',
  },
  loading: {
    ms: 1_000,
    what: 'A connected Redis that does not say that it is ready',
    why: 'It says so within milliseconds, unless it is loading its data.',
    afterwards: 'It is asked whether it loads its data. If so, the log says it.',
  },
  healthKey: {
    ms: 60_000,
    what: 'The key of a health check in Redis',
    why: 'Health checks are more frequent, and a stopped service must leave nothing behind.',
    afterwards: 'Redis deletes the key.',
  },
  firstConnection: {
    ms: 3_000,
    what: 'The first connection to Redis at the start, with the answers of its Sentinels',
    why: 'The service works without Redis.',
    afterwards: 'The start goes on, and the connection is tried again in the background.',
  },
  failover: {
    ms: 1_000,
    what: 'Between two attempts to send a command to a cluster that replaces a node',
    why: 'Sixteen attempts are longer than the 15 s after which a cluster replaces a node.',
    afterwards: 'The command is sent again. The request that needed it no longer waits.',
  },
  recovery: {
    ms: 10_000,
    what: 'The time without a refused command after which Redis counts as working',
    why: 'A replica refuses writes and answers reads. The log would change with each of them.',
    afterwards: 'The log says that Redis accepts commands again.',
  },
  backoffStep: {
    ms: 100,
    what: 'Added to the pause before each further attempt to connect',
    why: 'A restart of Redis is short, so the first attempts follow quickly.',
    afterwards: 'The next attempt runs.',
  },
  backoffMax: {
    ms: 1_000,
    what: 'Longest pause between two attempts to connect',
    why: 'Redis is used again within a second after it has recovered.',
    afterwards: 'The next attempt runs.',
  },
} satisfies Record<string, WaitingTime>
