// The waiting times of the search engine client.
import type { WaitingTime } from './waiting-time.ts'

export const searchEngineTimeouts = {
  health: {
    ms: 1_000,
    what: 'An answer of the search engine to a health check',
    why: 'A health check must answer before its caller gives up.',
    afterwards: 'The health check reports the search engine as down.',
  },
  connect: {
    ms: 250,
    what: 'A connection to the search engine',
    why: 'A search has 300 ms. A reachable engine accepts within milliseconds.',
    afterwards: 'The search goes to another engine or to PostgreSQL.',
  },
  idleConnection: {
    ms: 4_000,
    what: 'An idle connection to the search engine',
    why: 'Shorter than the idle limits of engines and balancers, which close connections too.',
    afterwards: 'The connection is closed. The next search opens another one.',
  },
  firstProbe: {
    ms: 100,
    what: 'The time until the first probe of a search engine that failed',
    why: 'After lost connections a new one works at once. Each further pause is twice as long.',
    afterwards: 'A probe runs. The circuit breaker closes if the engine answers it.',
  },
  probeInterval: {
    ms: 1_000,
    what: 'The longest time between two probes of a failed search engine',
    why: 'Searches use the engine again about a second after it has recovered.',
    afterwards: 'A probe runs. The circuit breaker closes if the engine answers it.',
  },
  timeoutShare: {
    ms: 5_000,
    what: 'The period over which the share of searches that time out is measured',
    why: 'Long enough for a share at few searches, short enough to notice a slow engine.',
    afterwards: 'Older searches no longer count.',
  },
  rejectionLog: {
    ms: 10_000,
    what: 'Between two log lines about searches that the engine rejects as invalid',
    why: 'One caller may repeat such a search at every keystroke.',
    afterwards: 'The next rejection is logged, with the number of those before it.',
  },
  indexStateInterval: {
    ms: 250,
    what: 'Between two reads of the state of the index by a process that shares no reads',
    why: 'Every instance notices a changed index within a second.',
    afterwards: 'The state is read again.',
  },
  indexStateLock: {
    ms: 230,
    what: 'The time for which one process reads the state of the index for all',
    why: 'All processes together read it about four times a second.',
    afterwards: 'The next process that asks Redis reads the state.',
  },
  sharedIndexStatePoll: {
    ms: 100,
    what: 'The time between two polls of Redis for the state of the index',
    why: 'A shared state is used within half a second after it was read.',
    afterwards: 'The process uses a new state, or reads it for all.',
  },
  indexStateResponse: {
    ms: 100,
    what: 'A response of Redis to a poll for the state of the index',
    why: 'Reading PostgreSQL takes less time than a slow Redis.',
    afterwards: 'The process reads PostgreSQL itself, and does not use Redis for a pause.',
  },
  indexStatePause: {
    ms: 1_000,
    what: 'The pause of polls for the state of the index after Redis failed or was slow',
    why: 'Polls must not wait for Redis one after another during an outage.',
    afterwards: 'Redis is polled again.',
  },
  indexStateMaxAge: {
    ms: 700,
    what: 'The age up to which the state of the index is used',
    why: 'With the duration of one read, a changed index is noticed within a second.',
    afterwards: 'No cached answer is used until the state has been read again.',
  },
  useRecord: {
    ms: 10_000,
    what: 'The time between two records that an API process uses an index',
    why: 'An index that nobody has used for a minute is removed if a newer release has its own.',
    afterwards: 'The use is recorded again, by one of the processes.',
  },
  useAfterFailover: {
    ms: 60_000,
    what: 'How long an index is used after a failover of PostgreSQL, until it is compared',
    why: 'A failover loses seconds of commits. A restored database may lack more.',
    afterwards: 'PostgreSQL answers until the index was compared or rebuilt.',
  },
  maxIndexLag: {
    ms: 10_000,
    what: 'How much older an index may be than that of another engine',
    why: 'Synchronized engines differ by tenths of a second.',
    afterwards: 'The engine gets no searches until its index has caught up.',
  },
} satisfies Record<string, WaitingTime>
