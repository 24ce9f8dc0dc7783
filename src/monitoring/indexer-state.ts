// What an indexer is doing and whether it succeeds, for its metrics and its health check.

const indexerErrorKinds = [
  'postgresql',
  'engine_unreachable',
  'engine_refused',
  'engine_task',
  'lease_lost',
  'other',
] as const
export type IndexerErrorKind = (typeof indexerErrorKinds)[number]

const regularJobs = [
  'quote_links',
  'search_report',
  'product_words',
  'popularity',
  'old_indexes',
] as const
/**
 * What an indexer does besides indexing: three kinds of deletion, and counting popularity. The
 * metrics call it a task.
 */
export type RegularJob = (typeof regularJobs)[number]

type Activity = 'starting' | 'standing by' | 'rebuilding' | 'following changes'

export class IndexerState {
  activity: Activity = 'starting'
  /** The kind of the latest error. Null once something has succeeded again. */
  failing: IndexerErrorKind | null = null
  holdsLease = false
  /** When the index last contained every change, by the clock of this process; null before. */
  lastSuccessAt: Date | null = null
  /** The products in the index that is being built. Null while none is. */
  rebuiltProducts: number | null = null
  readonly errors = new Map<IndexerErrorKind, number>(indexerErrorKinds.map((kind) => [kind, 0]))
  /** Whether the last attempt of each job succeeded. Null before the first one has ended. */
  readonly jobs = new Map<RegularJob, boolean | null>(regularJobs.map((job) => [job, null]))

  countError(kind: IndexerErrorKind): void {
    this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1)
    this.failing = kind
  }

  /** Must be called whenever every change that was read up to the end of the outbox is applied. */
  recordSuccess(): void {
    this.failing = null
    this.lastSuccessAt = new Date()
  }
}
