// The waiting times of a search.
import type { WaitingTime } from './waiting-time.ts'

export const searchTimeouts = {
  engine: {
    ms: 300,
    what: 'An answer of the search engine',
    why: 'A keystroke feels instant up to about a third of a second.',
    afterwards:
      'Another engine or PostgreSQL answers. The circuit breaker opens after many of them.',
  },
  relaxation: {
    ms: 100,
    what: 'A query that no product satisfies, until it may be relaxed',
    why: 'The first request, this wait and the relaxation fit into the limit of 300 ms.',
    afterwards: 'What the first request found is sent, as degraded, and is not cached.',
  },
  fallbackStatement: {
    ms: 800,
    what: 'A search in PostgreSQL, limited by PostgreSQL',
    why: 'It takes up to 100 ms for a million products. Nobody waits a second for a keystroke.',
    afterwards: 'PostgreSQL cancels the statement. The search gets a 503.',
  },
  fallbackResponse: {
    ms: 1_500,
    what: 'Data from PostgreSQL while it searches',
    why: 'PostgreSQL itself cancels the statement earlier, unless it hangs.',
    afterwards: 'The connection is closed. The search gets a 503.',
  },
  fallbackConnection: {
    ms: 500,
    what: 'A new connection for searches in PostgreSQL',
    why: 'A reachable server accepts within milliseconds.',
    afterwards: 'The search gets a 503.',
  },
  defectLog: {
    ms: 3_600_000,
    what: 'Between two log lines about the same defect of this service in a search',
    why: 'Every keystroke may meet it, and somebody who looks hours later must still find it.',
    afterwards: 'The next such search is logged again, with the number of those before it.',
  },
  retryAfter: {
    ms: 2_000,
    what: 'The Retry-After of a search that neither the engine nor PostgreSQL answered',
    why: 'The circuit breaker has probed the engine again by then.',
    afterwards: 'The client may repeat the search.',
  },
} satisfies Record<string, WaitingTime>
