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
    why: 'The refresh ends before the statistics are two seconds old.',
    afterwards: 'A refresh starts. The request gets the cached statistics without waiting.',
  },
  refreshWait: {
    ms: 1_000,
    what: 'A refresh, if the process or Redis has older statistics',
    why: 'Computing takes 17 ms at a million quotes (p95), so a longer wait means a failure.',
    afterwards: 'The older statistics are sent, marked stale.',
  },
  refreshWaitDuringOutage: {
    ms: 1,
    what: 'A refresh that a request has waited for in vain, or while PostgreSQL does not respond',
    why: 'A longer wait is unlikely to help.',
    afterwards: 'The older statistics are sent, marked stale. The refresh continues.',
  },
  firstComputation: {
    ms: 10_000,
    what: 'Computing statistics, if neither the process nor Redis has any',
    why: 'PostgreSQL ends a statement of the API after the same time.',
    afterwards: '503 with Retry-After.',
  },
  failureMemory: {
    ms: 60_000,
    what: 'The time for which a request counts as failing after its statistics were not computed',
    why: 'Some requests may succeed while others fail. The log must not call this a recovery.',
    afterwards: 'The next statistics that are computed are logged as the recovery.',
  },
  sharedStatsResponse: {
    ms: 100,
    what: 'Reading shared statistics from Redis',
    why: 'Computing the statistics takes less time than a slow Redis.',
    afterwards: 'The statistics are computed, and reads from Redis pause.',
  },
  sharedStats: {
    ms: 86_400_000,
    what: 'How long Redis keeps statistics',
    why: 'They are sent, marked stale, while PostgreSQL is unreachable.',
    afterwards: 'Redis deletes them. Without PostgreSQL, processes that hold none answer with 503.',
  },
  redisPause: {
    ms: 1_000,
    what: 'The pause of reads from Redis after an error or a slow response',
    why: 'Requests must not wait for Redis one after another during an outage.',
    afterwards: 'Redis is read again.',
  },
  dataVersionPoll: {
    ms: 200,
    what: 'The time between two reads of the data version by a process that shares no reads',
    why: 'Cached statistics are at most this old while the data is unchanged.',
    afterwards: 'The process reads the data version again.',
  },
  redisVersionLock: {
    ms: 180,
    what: 'The time for which one process reads the data version for all',
    why: 'All processes together read it about five times a second.',
    afterwards: 'The next process that asks Redis reads the data version.',
  },
  redisVersionPoll: {
    ms: 100,
    what: 'The time between two polls of Redis for the data version',
    why: 'Processes use a shared version for 0.4 s, and the next one arrives sooner.',
    afterwards: 'The process uses a newer version, or reads the data version for all.',
  },
  redisVersionResponse: {
    ms: 100,
    what: 'A response of Redis to a poll for the data version',
    why: 'Reading PostgreSQL takes less time than a slow Redis.',
    afterwards: 'The process reads PostgreSQL itself, and does not use Redis for a pause.',
  },
  dataVersionMaxAge: {
    ms: 500,
    what: 'The age up to which a data version that was read earlier is used for a refresh',
    why: 'Shared versions are at most 0.4 s old. A refresh rarely needs another query.',
    afterwards: 'The refresh reads the data version itself.',
  },
  dataVersionResponse: {
    ms: 1_000,
    what: 'A response to the query for the data version',
    why: 'The query reads one row, so a longer wait means that PostgreSQL hangs.',
    afterwards: 'PostgreSQL counts as failing. Requests get older statistics almost at once.',
  },
  foldCheck: {
    ms: 1_000,
    what: 'The time between two checks whether changes have to be folded',
    why: 'Readers add up unfolded changes, so few of them may accumulate.',
    afterwards: 'Many or old changes are folded. A failed batch is logged, counted and retried.',
  },
  foldAge: {
    ms: 10_000,
    what: 'The age of the oldest unfolded change at which all changes are folded',
    why: 'Few changes cost readers little, and folding them together updates fewer rows.',
    afterwards: 'The changes are folded at the next check.',
  },
  driftCheck: {
    ms: 60_000,
    what: 'The time between two drift checks, each of one month of the summary',
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
