// The waiting times of API keys and origins.
import type { WaitingTime } from './waiting-time.ts'

export const authTimeouts = {
  lookUp: {
    ms: 1_000,
    what: 'PostgreSQL, when a key or an origin is looked up',
    why: 'Callers wait for it, so a database that hangs is treated as unreachable.',
    afterwards: 'A cached key stays valid, other keys get 503.',
  },
  lookUpOverload: {
    ms: 60_000,
    what: 'Since a look-up of a key was rejected because there were too many',
    why: 'Anybody can cause it, so the log has at most two lines a minute about it.',
    afterwards: 'The log says that keys can be looked up again.',
  },
  keyRefresh: {
    ms: 1_500,
    what: 'Age at which a cached key is read again in the background',
    why: 'Half of its lifetime, so a key in use never waits for PostgreSQL.',
    afterwards: 'The cached key is used meanwhile.',
  },
  keyCache: {
    ms: 3_000,
    what: 'Lifetime of a cached key, and of a cached id that does not exist',
    why: 'Every process rejects a revoked key within 5 s. This and a look-up are shorter.',
    afterwards: 'The key is read before the request continues.',
  },
  keyOutage: {
    ms: 900_000,
    what: 'Lifetime of a cached key that cannot be read again',
    why: 'Searches continue during an outage that is repaired within 15 minutes.',
    afterwards: '503.',
  },
  keyOutageRetry: {
    ms: 1_000,
    what: 'Between two attempts to read a key that cannot be read',
    why: 'An outage must not delay every request.',
    afterwards: 'The next request reads the key again, in the background.',
  },
  originCache: {
    ms: 3_000,
    what: 'Lifetime of the cached list of registered origins',
    why: 'A new origin works, and a revoked one fails, within seconds.',
    afterwards: 'The list is read again.',
  },
  originOutage: {
    ms: 900_000,
    what: 'Lifetime of a list of origins that cannot be read again',
    why: 'The same as for keys.',
    afterwards: '503.',
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
