// Every waiting time of the service and the reason for it, by the part that waits.
// docs/timeouts.md is made from this file.

/** A waiting time in milliseconds: what waits, why it is this long, and what happens afterwards. */
export type WaitingTime = { ms: number; what: string; why: string; afterwards: string }

export const timeouts = {
  process: {},
  http: {},
  auth: {},
  rateLimits: {},
  overload: {},
  database: {},
  redis: {},
  searchEngine: {},
  search: {
    engine: {
      ms: 300,
      what: 'An answer of the search engine',
      why: 'A keystroke feels instant up to about a third of a second.',
      afterwards: 'PostgreSQL answers, and the circuit breaker opens.',
    },
  },
  indexing: {},
  stats: {},
  quotes: {},
  monitoring: {},
} satisfies Record<string, Record<string, WaitingTime>>
