// Random steps of a history: writers, readers that keep a snapshot, folds, rebuilds, truncates and
// restarts.
import fc from 'fast-check'
import { arbitraryLines, arbitraryQuery, arbitraryQuote } from './random-quotes.ts'

export const writerCount = 3
const readerCount = 2

const kind = <Kind extends string>(name: Kind): fc.Arbitrary<Kind> => fc.constant(name)
const writer = fc.integer({ min: 0, max: writerCount - 1 })
const reader = fc.integer({ min: 0, max: readerCount - 1 })
/** Of a quote of the writer. */
const index = fc.integer({ min: 0, max: 11 })
const query = arbitraryQuery

/** Statements of a writer, which change only quotes of that writer. */
const write = fc.record({
  added: fc.array(arbitraryQuote, { maxLength: 6 }),
  /** Without a quote, only the lines change. */
  changed: fc.array(fc.record({ index, quote: fc.option(arbitraryQuote), lines: arbitraryLines }), {
    maxLength: 4,
  }),
  deleted: fc.array(index, { maxLength: 2 }),
  /** Inserts, updates and deletes in one statement. */
  isMerge: fc.boolean(),
  /** The lines of changed quotes are written before the quotes. */
  isLinesFirst: fc.boolean(),
})
/** How a transaction ends. */
const end = fc.constantFrom('commit' as const, 'commit' as const, 'rollback' as const)
const maintenance = fc.constantFrom(
  ...(['fold', 'rebuild', 'rebuild', 'truncate', 'truncate lines'] as const),
)

export const arbitraryStep = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      kind: kind('write'),
      writer,
      write,
      /** As the worker of a logical replication applies it. */
      isReplicated: fc.constantFrom(false, false, false, false, true),
    }),
  },
  { weight: 9, arbitrary: fc.record({ kind: kind('end'), writer, end }) },
  {
    // Some days later. Folds in several batches if `batch` is small.
    weight: 6,
    arbitrary: fc.record({
      kind: kind('fold'),
      batch: fc.constantFrom(1, 3, 20_000),
      days: fc.constantFrom<number>(0, 0, 0, 1, 20, 120),
      query,
    }),
  },
  {
    // A writer maintains the summary within its transaction, and writes before and afterwards.
    weight: 5,
    arbitrary: fc.record({
      kind: kind('maintain'),
      writer,
      what: maintenance,
      writes: fc.tuple(write, write),
      end,
    }),
  },
  // The server has other transaction ids than the summary, as after restoring a dump.
  { weight: 2, arbitrary: fc.record({ kind: kind('restore') }) },
  { weight: 7, arbitrary: fc.record({ kind: kind('check'), query }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('hold'), reader }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('check held'), reader, query }) },
)

type Generated<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never
export type Step = Generated<typeof arbitraryStep>
export type Write = Generated<typeof write>
export type End = Generated<typeof end>
