// Every waiting time of the service and the reason for it, by the part that waits.
// docs/timeouts.md is generated from this file: run `node scripts/timeouts-table.ts`.

/** A waiting time in milliseconds: what waits, why this long, and what happens afterwards. */
export type WaitingTime = { ms: number; what: string; why: string; afterwards: string }

export const timeouts = {
  process: {
    drain: {
      ms: 5_000,
      what: 'Requests under way when the process stops',
      why: 'Longer than nearly every answer takes, shorter than orchestrators wait before a kill.',
      afterwards: 'Their connections are cut.',
    },
    stop: {
      ms: 7_000,
      what: 'The whole shutdown',
      why: 'Two seconds to close connections to servers after the requests have drained.',
      afterwards: 'The process exits with status 1.',
    },
  },
  http: {
    requestHead: {
      ms: 10_000,
      what: 'The head of a request',
      why: 'A client on a slow line needs seconds; a longer wait serves only slowloris attacks.',
      afterwards: '408, and the connection is closed.',
    },
    wholeRequest: {
      ms: 10_000,
      what: 'A request with its body',
      why: 'No path reads a body, so the limit of the head is enough.',
      afterwards: '408, and the connection is closed.',
    },
    slowRequestCheck: {
      ms: 1_000,
      what: 'Between two checks for requests that arrive too slowly',
      why: 'Node checks every 30 s by default, which would triple the two limits above.',
      afterwards: 'The next check runs.',
    },
    silentConnection: {
      ms: 30_000,
      what: 'A connection without traffic while a request is under way',
      why: 'Longer than every answer may take.',
      afterwards: 'The connection is closed.',
    },
    keepAlive: {
      ms: 65_000,
      what: 'An idle connection between two requests',
      why: 'Longer than load balancers keep theirs (60 s), so the balancer closes first.',
      afterwards: 'The connection is closed.',
    },
  },
  auth: {
    lookUp: {
      ms: 1_000,
      what: 'PostgreSQL, when a key or an origin is looked up',
      why: 'Callers wait for it; a database that hangs is treated as unreachable.',
      afterwards: 'A cached key stays valid, other keys get 503.',
    },
    keyRefresh: {
      ms: 1_500,
      what: 'Age at which a cached key is read again in the background',
      why: 'Half of its lifetime, so a key in use never waits for PostgreSQL.',
      afterwards: 'The cached key is used meanwhile.',
    },
    keyCache: {
      ms: 3_000,
      what: 'Lifetime of a cached key, and of an id that does not exist',
      why: 'With one look-up of a second it bounds how late a revocation is noticed: 4 s.',
      afterwards: 'The key is read before the request continues.',
    },
    keyOutage: {
      ms: 900_000,
      what: 'Lifetime of a cached key while PostgreSQL is unreachable',
      why: 'Search still works without PostgreSQL; 15 minutes cover a failover.',
      afterwards: '503.',
    },
    keyOutageRetry: {
      ms: 1_000,
      what: 'Between two look-ups of a key while PostgreSQL is unreachable',
      why: 'An outage must not delay every request.',
      afterwards: 'The next request reads the key again.',
    },
    originCache: {
      ms: 3_000,
      what: 'Lifetime of the cached list of registered origins',
      why: 'As for keys: a new origin works, and a revoked one fails, within seconds.',
      afterwards: 'The list is read again.',
    },
    originOutage: {
      ms: 900_000,
      what: 'Lifetime of the list of origins while PostgreSQL is unreachable',
      why: 'As for keys.',
      afterwards: '503.',
    },
    preflightCache: {
      ms: 600_000,
      what: 'How long browsers may cache a preflight',
      why: 'Ten minutes save most preflights; each request itself is still checked.',
      afterwards: 'The browser sends another preflight.',
    },
    lastUsedInterval: {
      ms: 60_000,
      what: 'Between two updates of when a key was last used',
      why: 'A minute is exact enough to find unused keys.',
      afterwards: 'The next use is written.',
    },
    lastUsedWrite: {
      ms: 5_000,
      what: 'Between two writes of the keys that were used',
      why: 'One statement for many keys.',
      afterwards: 'The keys used since then are written.',
    },
  },
  rateLimits: {
    redisPause: {
      ms: 1_000,
      what: 'Pause after Redis failed to count a request',
      why: 'Without it every request of an outage would wait for Redis.',
      afterwards: 'Redis is tried again.',
    },
  },
  overload: {
    queue: {
      ms: 100,
      what: 'A search that waits for a free place',
      why: 'A burst is over by then; together with the engine it stays below half a second.',
      afterwards: '503.',
    },
    recentRejection: {
      ms: 100,
      what: 'How long a rejection counts as a sign of lasting overload',
      why: 'A long queue helps with a burst only; in lasting overload it makes every answer late.',
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
      why: 'A line for each rejection would cost more than the rejection.',
      afterwards: 'One line with the number of rejections.',
    },
  },
  database: {},
  redis: {
    connect: {
      ms: 1_000,
      what: 'A connection to Redis',
      why: 'The service works without Redis.',
      afterwards: 'The connection is tried again after the backoff.',
    },
    command: {
      ms: 250,
      what: 'A command of Redis',
      why: 'Redis answers in under a millisecond; computing the answer is better than waiting longer.',
      afterwards: 'Each process limits and computes on its own.',
    },
    backoffStep: {
      ms: 100,
      what: 'Added to the pause before each further attempt to connect',
      why: 'A short restart of Redis is over quickly.',
      afterwards: 'The next attempt.',
    },
    backoffMax: {
      ms: 1_000,
      what: 'Longest pause between two attempts to connect',
      why: 'Redis is used again at most a second after it is back.',
      afterwards: 'The next attempt.',
    },
  },
  searchEngine: {},
  search: {
    engine: {
      ms: 300,
      what: 'An answer of the search engine',
      why: 'A keystroke feels instant up to about a third of a second.',
      afterwards: 'PostgreSQL answers, and the circuit breaker opens.',
    },
  },
  indexing: {
    poll: {
      ms: 100,
      what: 'Pause of an idle indexer before it reads the outbox again',
      why: 'The pause is part of the delay until a change is searchable.',
      afterwards: 'The indexer reads the outbox.',
    },
    standby: {
      ms: 1_000,
      what: 'Pause of a standby indexer between two attempts to acquire the lease',
      why: 'With a lease of 5 s, another indexer takes over within 10 s.',
      afterwards: 'It tries to acquire the lease again.',
    },
    lease: {
      ms: 5_000,
      what: 'Validity of the lease without renewal',
      why: 'Several renewals may fail before another indexer takes over.',
      afterwards: 'Another indexer may acquire the lease.',
    },
    leaseRenewal: {
      ms: 1_000,
      what: 'Interval at which an indexer renews its lease',
      why: 'A fifth of the lease, so that one slow renewal does not lose it.',
      afterwards: 'The indexer renews the lease.',
    },
    keyReplacement: {
      ms: 500,
      what: 'Pause after the keys of an indexer that did not release its lease were deleted',
      why: 'The engine may have accepted a request of that indexer just before; this queues it.',
      afterwards: 'The new indexer begins to write.',
    },
    firstBackoff: {
      ms: 200,
      what: 'Pause of the indexer after a first error',
      why: 'Most errors are short: a restarted server, a broken connection.',
      afterwards: 'The indexer starts over with new keys. Each further error doubles the pause.',
    },
    longestBackoff: {
      ms: 1_000,
      what: 'Longest pause of the indexer after an error',
      why: 'The API uses a recovered engine within a second, so its index must catch up soon.',
      afterwards: 'The indexer starts over with new keys.',
    },
    rebuildCheck: {
      ms: 5_000,
      what: 'Interval of the check whether the index must be rebuilt',
      why: 'A wrong index must be noticed soon, and the check costs few requests.',
      afterwards: 'The index is checked, and rebuilt if necessary.',
    },
    countCheck: {
      ms: 60_000,
      what: 'Interval of the comparison of the number of documents with the number of products',
      why: 'Counting a large catalogue is expensive, and a difference is rare.',
      afterwards: 'The numbers are compared.',
    },
    countRecheck: {
      ms: 500,
      what: 'Pause before a difference in the number of documents is checked a second time',
      why: 'A change that was committed between the two counts is no difference.',
      afterwards: 'If the numbers still differ, the index is rebuilt.',
    },
    idleRecord: {
      ms: 2_000,
      what: 'Interval at which an idle indexer records that the index is up to date',
      why: 'The lag of the next change is measured from this instant; it is shown in seconds.',
      afterwards: 'search_engines.indexed_at is updated.',
    },
    olderTransactions: {
      ms: 100,
      what: 'Pause between two checks for transactions that are older than the engine',
      why: 'Happens once for each new engine. Most transactions are short.',
      afterwards: 'The indexer checks again, without a limit.',
    },
    requeueRetry: {
      ms: 500,
      what: 'Pause before another attempt to find out whether the lease was lost',
      why: 'Twenty attempts cover a restart of PostgreSQL.',
      afterwards: 'After 20 attempts the error is thrown; `verify --repair` finds what is left.',
    },
    request: {
      ms: 300_000,
      what: 'One request of the indexer to the search engine, or one statement in PostgreSQL',
      why: 'Detects a server that no longer responds. The largest upload takes far less.',
      afterwards: 'The request fails, and the indexer starts over with new keys.',
    },
    task: {
      ms: 600_000,
      what: 'A task in the queue of the search engine',
      why: 'A task can wait for a batch of a rebuild, which takes up to a minute.',
      afterwards: 'The wait fails, and the indexer starts over with new keys.',
    },
    uploadPoll: {
      ms: 10,
      what: 'Interval at which the state of an upload of changed products is read',
      why: 'The interval is part of the delay until a change is searchable.',
      afterwards: 'The state is read again.',
    },
    taskPoll: {
      ms: 20,
      what: 'Interval at which the state of any other task is read',
      why: 'Such tasks are part of a rebuild, where no change waits for them.',
      afterwards: 'The state is read again.',
    },
    rebuildPoll: {
      ms: 100,
      what: 'Interval at which the outbox is read while a rebuild uploads the catalogue',
      why: 'The same as without a rebuild.',
      afterwards: 'If there are changes, the live index receives them first.',
    },
    changeDuringRebuild: {
      ms: 3_000,
      what: 'Wait of a change for the upload of a rebuild that is being processed',
      why: 'A change should be searchable within 5 s. This leaves 2 s to apply it.',
      afterwards: 'The uploads of the rebuild are cancelled, even small ones.',
    },
    uploadDuringChanges: {
      ms: 2_500,
      what: 'Duration of one upload of a rebuild while products are changing',
      why: 'A change waits for one such upload at most, and should be searchable within 5 s.',
      afterwards: 'The size of the next upload is adapted to the measured rate.',
    },
    quietPeriod: {
      ms: 10_000,
      what: 'Time without changes after which a rebuild sends more than one upload at a time',
      why: 'Cancelled uploads are lost work. Changes often arrive in groups.',
      afterwards: 'Large uploads fill the queue of the engine.',
    },
    shortestUploadCheck: {
      ms: 10,
      what: 'Shortest pause before the uploads of a rebuild are checked again',
      why: 'A nearly empty queue must be refilled at once.',
      afterwards: 'Finished uploads are recorded and new ones are sent.',
    },
    longestUploadCheck: {
      ms: 100,
      what: 'Longest pause before the uploads of a rebuild are checked again',
      why: 'A full queue keeps the engine busy for seconds.',
      afterwards: 'Finished uploads are recorded and new ones are sent.',
    },
    driftRecheck: {
      ms: 400,
      what: 'Pause of `verify` before it compares a differing document again',
      why: 'The index and the catalogue cannot be read at the same instant.',
      afterwards: 'A document that differs in three comparisons is reported.',
    },
    repairKey: {
      ms: 3_600_000,
      what: 'Validity of the key with which `verify --repair` deletes documents',
      why: 'The key is deleted after the repair. This limits one that was left by a crash.',
      afterwards: 'The engine rejects the key.',
    },
  },
  stats: {
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
    sharedCachePause: {
      ms: 1_000,
      what: 'The pause of reads from Redis after an error or a slow response',
      why: 'Requests must not wait for Redis one after another during an outage.',
      afterwards: 'The next request reads from Redis again.',
    },
    dataVersionPoll: {
      ms: 200,
      what: 'The time between two readings of the data version',
      why: 'The age of every cached answer is at most this long while the data is unchanged.',
      afterwards: 'The data version is read again.',
    },
    recentDataVersion: {
      ms: 500,
      what: 'The age up to which a reading of the data version is used for a refresh',
      why: 'It is two polls and a slow query. A refresh rarely needs a query of its own.',
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
      what: 'The time between two batches that fold deltas',
      why: 'Readers sum unfolded deltas, so few of them may accumulate.',
      afterwards: 'The next batch is folded. A failed batch is repeated.',
    },
  },
  quotes: {
    pdfRendering: {
      ms: 20_000,
      what: 'Rendering one PDF',
      why: 'About 5 lines take 1 ms. Only a huge quote or a very busy machine needs this long.',
      afterwards: 'The rendering process is killed and replaced. The request gets a 503.',
    },
    retryAfter: {
      ms: 5_000,
      what: 'Retry-After of a quote or PDF that is temporarily unavailable',
      why: 'Most connection failures end within a few seconds.',
      afterwards: 'The visitor or program tries again.',
    },
  },
  monitoring: {
    healthCheck: {
      ms: 1_000,
      what: 'A health check of a server',
      why: 'Prometheus and load balancers give up after a few seconds.',
      afterwards: 'The server counts as down.',
    },
    logFlush: {
      ms: 100,
      what: 'A log line in the buffer',
      why: 'Writing each line separately costs more than a cached answer.',
      afterwards: 'The buffer is written. A killed process loses it.',
    },
  },
} satisfies Record<string, Record<string, WaitingTime>>
