// Random steps of a history: writers, readers that keep a snapshot, folds, rebuilds, truncates and
// restarts.
import fc from 'fast-check'
import type { Line, Quote } from '../quote-builder.ts'
import {
  arbitraryLines,
  arbitraryQuery,
  arbitraryQuote,
  type RandomQuery,
} from './random-quotes.ts'

export const writerCount = 3
export const readerCount = 2

export type NewQuote = Omit<Quote, 'number'>
/** One statement of a writer. It changes only quotes of that writer. */
export type Write =
  | { kind: 'insert'; quotes: NewQuote[] }
  | { kind: 'update'; index: number; quote: NewQuote }
  | { kind: 'delete'; index: number }
  | { kind: 'change lines'; index: number; lines: Line[] }
  /** Inserts, updates and deletes in one statement. */
  | { kind: 'merge'; quotes: NewQuote[] }
  /** Each of these changes more than 200 quotes, if the writer has as many. */
  | { kind: 'insert many'; quotes: NewQuote[] }
  | { kind: 'update all'; quotes: NewQuote[] }
  | { kind: 'delete all but'; index: number }
/** How a transaction ends. */
export type End = 'commit' | 'rollback'
export type Step =
  /** `replicated`: as the worker of a logical replication applies it. */
  | { kind: 'write'; writer: number; write: Write; replicated: boolean }
  | { kind: 'end'; writer: number; end: End }
  /** `days` later. Folds in several batches if `batch` is small. */
  | { kind: 'fold'; batch: number; days: number; query: RandomQuery }
  | { kind: 'rebuild' }
  /** A writer maintains the summary within its transaction, and writes before and afterwards. */
  | { kind: 'maintain'; writer: number; what: Maintenance; writes: [Write, Write]; end: End }
  /** The server has other transaction ids than the summary, as after restoring a dump. */
  | { kind: 'restore' }
  | { kind: 'check'; query: RandomQuery }
  | { kind: 'verify' }
  | { kind: 'hold'; reader: number }
  | { kind: 'check held'; reader: number; query: RandomQuery }
export type Maintenance = 'fold' | 'rebuild' | 'truncate' | 'truncate lines'

const kind = <Kind extends string>(name: Kind): fc.Arbitrary<Kind> => fc.constant(name)
const writer = fc.integer({ min: 0, max: writerCount - 1 })
const reader = fc.integer({ min: 0, max: readerCount - 1 })
const index = fc.integer({ min: 0, max: 11 })
const quotes = fc.array(arbitraryQuote, { minLength: 1, maxLength: 6 })
const query = arbitraryQuery
const end = fc.constantFrom<End>('commit', 'commit', 'rollback')

const fewQuotes: fc.Arbitrary<Write> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: kind('insert'), quotes }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('update'), index, quote: arbitraryQuote }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('delete'), index }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: kind('change lines'), index, lines: arbitraryLines }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('merge'), quotes }) },
)
const manyQuotes: fc.Arbitrary<Write> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: kind('insert many'), quotes }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('update all'), quotes }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('merge'), quotes }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('delete all but'), index }) },
)

const write = fc.record({
  kind: kind('write'),
  writer,
  write: fewQuotes,
  replicated: fc.constantFrom(false, false, false, false, true),
})
/** Always the same writer, so that it has many quotes to update and to delete. */
const writeMany = fc.record({
  kind: kind('write'),
  writer: fc.constant(0),
  write: manyQuotes,
  replicated: fc.constant(false),
})
const maintain = fc.record({
  kind: kind('maintain'),
  writer,
  what: fc.constantFrom<Maintenance>('fold', 'rebuild', 'truncate', 'truncate', 'truncate lines'),
  writes: fc.tuple(fewQuotes, fewQuotes),
  end,
})

const fold = fc.record({
  kind: kind('fold'),
  batch: fc.constantFrom(1, 3, 20_000),
  days: fc.constantFrom(0, 0, 0, 1, 20, 120),
  query,
})

export const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 24, arbitrary: write },
  { weight: 4, arbitrary: writeMany },
  { weight: 9, arbitrary: fc.record({ kind: kind('end'), writer, end }) },
  { weight: 6, arbitrary: fold },
  { weight: 2, arbitrary: fc.record({ kind: kind('rebuild') }) },
  { weight: 3, arbitrary: maintain },
  { weight: 2, arbitrary: fc.record({ kind: kind('restore') }) },
  { weight: 7, arbitrary: fc.record({ kind: kind('check'), query }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('verify') }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('hold'), reader }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('check held'), reader, query }) },
)
