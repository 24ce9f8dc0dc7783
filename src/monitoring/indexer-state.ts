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

export type JobState = { lastSuccessMs: number; failures: number; isFailing: boolean }
type Activity = 'starting' | 'standing by' | 'rebuilding' | 'following changes'

export class IndexerState {
  activity: Activity = 'starting'
  /** The kind of the latest error. Null once something has succeeded again. */
  failing: IndexerErrorKind | null = null
  holdsLease = false
  /** When the index last contained every change, by the clock of this process; null before. */
  lastSuccessMs: number | null = null
  appliedChanges = 0
  rebuild: { products: number } | null = null
  rebuilds = { completed: 0, failed: 0 }
  lastRebuildSeconds: number | null = null
  readonly errors = new Map<IndexerErrorKind, number>(indexerErrorKinds.map((kind) => [kind, 0]))
  /** For a job that has never succeeded, `lastSuccessMs` is the start of the process. */
  readonly jobs = new Map<RegularJob, JobState>(
    regularJobs.map((job) => [job, { lastSuccessMs: Date.now(), failures: 0, isFailing: false }]),
  )

  countError(kind: IndexerErrorKind): void {
    this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1)
    this.failing = kind
  }

  /** Must be called whenever every change that was read up to the end of the outbox is applied. */
  recordSuccess(): void {
    this.failing = null
    this.lastSuccessMs = Date.now()
  }

  /**
   * Records the start of a rebuild. Returns a function that records its end, which must be called
   * with whether the rebuild succeeded.
   */
  startRebuild(): (succeeded: boolean) => void {
    const startedMs = Date.now()
    this.activity = 'rebuilding'
    this.rebuild = { products: 0 }
    return (succeeded) => {
      this.rebuild = null
      this.activity = 'following changes'
      this.rebuilds[succeeded ? 'completed' : 'failed'] += 1
      if (succeeded) this.lastRebuildSeconds = (Date.now() - startedMs) / 1_000
    }
  }

  recordJob(job: RegularJob, succeeded: boolean): void {
    const state = this.jobs.get(job)
    if (!state) return
    state.isFailing = !succeeded
    if (succeeded) state.lastSuccessMs = Date.now()
    else state.failures += 1
  }
}
