// The waiting times of API keys and origins.
import type { WaitingTime } from './waiting-time.ts'

export const authTimeouts = {
  lookUp: {
    ms: 1_000,
    what: 'PostgreSQL, when a key or an origin is looked up',
    why: 'Callers wait for it, so a database that hangs is treated as unreachable.',
    afterwards: 'A cached key stays valid, other keys get 503.',
  },
  lookUpRecovery: {
    ms: 60_000,
    what: 'Since a look-up of a key failed, or was rejected because there were too many',
    why: 'Some look-ups succeed meanwhile, and each change would be a line of the log.',
    afterwards: 'The log says that keys can be looked up again.',
  },
  refreshAfter: {
    ms: 1_500,
    what: 'Since the last query for a cached key or the list of origins, also if it failed',
    why: 'Half of `waitAfter`, so a key in use never waits for PostgreSQL.',
    afterwards: 'The next request uses it, and starts to read it again in the background.',
  },
  waitAfter: {
    ms: 3_000,
    what: 'Since the last query for a cached key, the list of origins, or an unknown id',
    why: 'Every process rejects a revoked key within 5 s. This and a look-up are shorter.',
    afterwards: 'The next request waits until it is read again.',
  },
  discardAfter: {
    ms: 900_000,
    what: 'Since the last successful query for a cached key or the list of origins',
    why: 'Searches continue during an outage that is repaired within 15 minutes.',
    afterwards: 'It is discarded. The next request waits for a query, and gets 503 if that fails.',
  },
  preflightCache: {
    ms: 600_000,
    what: 'How long browsers may cache a preflight',
    why: 'Ten minutes save most preflights. Each request itself is still checked.',
    afterwards: 'The browser sends another preflight.',
  },
  retryAfter: {
    ms: 2_000,
    what: 'The Retry-After of a request whose key or origin could not be checked',
    why: 'A key is looked up for a second at most, and a short outage is over by then.',
    afterwards: 'The client may repeat the request.',
  },
  lastUsedInterval: {
    ms: 60_000,
    what: 'Between two updates of when a key was last used',
    why: 'A minute is exact enough to find unused keys.',
    afterwards: 'The next use is written.',
  },
  usageWrite: {
    ms: 5_000,
    what: 'Between two writes of when and how often each key was used',
    why: 'Two statements for many requests.',
    afterwards: 'The requests since then are added to those of the day.',
  },
} satisfies Record<string, WaitingTime>
