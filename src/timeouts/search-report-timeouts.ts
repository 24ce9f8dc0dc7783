// The waiting times of the search report.
import type { WaitingTime } from './waiting-time.ts'

export const searchReportTimeouts = {
  tick: {
    ms: 1_000,
    what: 'The time between two looks at which queries their callers have stopped changing',
    why: 'A query counts after three to four seconds without a further keystroke.',
    afterwards: 'The settled queries wait for what other processes know.',
  },
  continued: {
    ms: 5_000,
    what: 'The time in which another process may tell that a caller went on typing',
    why: 'Its keystrokes settle within four seconds.',
    afterwards: 'The query counts.',
  },
  typedExpiry: {
    ms: 30_000,
    what: 'How long Redis holds hashes of the beginnings of a typed query',
    why: 'The other processes count theirs within 20 seconds.',
    afterwards: 'Redis deletes them.',
  },
  write: {
    ms: 10_000,
    what: 'The time between two writes of what people search for',
    why: 'A few statements for many searches.',
    afterwards: 'The counts are added to those of the day.',
  },
  knownWord: {
    ms: 600_000,
    what: 'How long a word that a product has counts as known',
    why: 'The search engine is asked for new words only.',
    afterwards: 'The engine is asked again.',
  },
  purge: {
    ms: 3_600_000,
    what: 'The time between two purges of the search report',
    why: 'It keeps whole days.',
    afterwards: 'Counts older than 90 days and hashes older than 30 days are deleted.',
  },
} satisfies Record<string, WaitingTime>
