// The waiting times of statistics.
import type { WaitingTime } from './waiting-time.ts'

export const statsTimeouts = {
  maxAge: {
    ms: 2_000,
    what: 'The age up to which cached statistics are current',
    why: 'A committed change must be visible within two seconds.',
    afterwards: 'The request waits for a refresh.',
  },
  refreshAge: {
    ms: 500,
    what: 'The age from which cached statistics are refreshed in the background',
    why: 'The refresh ends before the answer is two seconds old.',
    afterwards: 'A refresh starts. The request gets the cached answer without waiting.',
  },
  refresh: {
    ms: 1_000,
    what: 'A refresh, if an older answer is cached',
    why: 'Computing takes 17 ms at a million quotes (p95), so a longer wait means a failure.',
    afterwards: 'The older answer is sent, marked stale.',
  },
  refreshDuringOutage: {
    ms: 1,
    what: 'A refresh while PostgreSQL does not respond, if an older answer is cached',
    why: 'Waiting is pointless while PostgreSQL does not respond.',
    afterwards: 'The older answer is sent, marked stale. The refresh continues.',
  },
  firstAnswer: {
    ms: 10_000,
    what: 'Computing statistics, if no answer is cached',
    why: 'PostgreSQL ends a statement of the API after the same time.',
    afterwards: 'The request fails with 503.',
  },
  sharedAnswer: {
    ms: 100,
    what: 'Reading shared statistics from Redis',
    why: 'Computing the answer takes less time than a slow Redis.',
    afterwards: 'The answer is computed, and reads from Redis pause.',
  },
  redisPause: {
    ms: 1_000,
    what: 'The pause of reads from Redis after an error or a slow response',
    why: 'Requests must not wait for Redis one after another during an outage.',
    afterwards: 'Redis is read again.',
  },
  dataVersionPoll: {
    ms: 200,
    what: 'The time between two readings of the data version when no other process shares them',
    why: 'The age of every cached answer is at most this long while the data is unchanged.',
    afterwards: 'The process reads the data version itself. Without Redis it is always alone.',
  },
  dataVersionLock: {
    ms: 180,
    what: 'The time for which one process reads the data version for all',
    why: 'All processes together read it about five times a second.',
    afterwards: 'The next process that asks Redis reads the data version.',
  },
  dataVersionExchange: {
    ms: 100,
    what: 'The time between two exchanges of the data version through Redis',
    why: 'Processes use a shared reading for 0.4 s, and the next one arrives sooner.',
    afterwards: 'The process uses a new reading, or reads the data version for all.',
  },
  dataVersionRedis: {
    ms: 100,
    what: 'A response of Redis in an exchange of the data version',
    why: 'Reading PostgreSQL takes less time than a slow Redis.',
    afterwards: 'The process reads PostgreSQL itself, and does not use Redis for a pause.',
  },
  recentDataVersion: {
    ms: 500,
    what: 'The age up to which a reading of the data version is used for a refresh',
    why: 'Shared readings are at most 0.4 s old. A refresh rarely needs a query of its own.',
    afterwards: 'The refresh reads the data version itself.',
  },
  dataVersionResponse: {
    ms: 1_000,
    what: 'A response to the query for the data version',
    why: 'The query reads one row, so a longer wait means that PostgreSQL hangs.',
    afterwards: 'PostgreSQL counts as failing, and requests get cached answers at once.',
  },
  fold: {
    ms: 1_000,
    what: 'The time between two checks whether changes have to be folded',
    why: 'Readers add up unfolded changes, so few of them may accumulate.',
    afterwards: 'Many or old changes are folded. A failed batch is logged, counted and repeated.',
  },
  foldAge: {
    ms: 10_000,
    what: 'The age of the oldest unfolded change at which all changes are folded',
    why: 'Few changes cost readers little, and folding them together updates fewer rows.',
    afterwards: 'The changes are folded at the next check.',
  },
  driftCheck: {
    ms: 60_000,
    what: 'The time between two comparisons of a month of the summary with the quotes',
    why: 'A month of 140,000 quotes takes one or two seconds, and a difference is rare.',
    afterwards: 'One of the API processes compares the next month.',
  },
  retryAfter: {
    ms: 2_000,
    what: 'Retry-After of statistics that cannot be computed',
    why: 'Most connection failures end within a few seconds.',
    afterwards: 'The client tries again.',
  },
} satisfies Record<string, WaitingTime>
