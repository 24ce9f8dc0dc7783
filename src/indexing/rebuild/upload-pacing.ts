// Decides how many documents of a rebuild are uploaded at once and how many uploads may be queued.
// The engine processes one batch after another, and a change waits for all batches before it.
import { timeouts } from '../../timeouts.ts'

/** The number of documents in one upload. */
const maxBatch = 20_000
const minBatch = 2_500
/** The largest amount of queued uploads. The engine stores them on its disk. */
const maxQueuedBytes = 512_000_000
/** How many documents the engine is assumed to process in a second, until this is measured. */
const initialRate = 1_000

/** The uploads that the engine has accepted and not yet processed. */
export type QueuedUploads = { uploads: number; documents: number; bytes: number }

export class UploadPacing {
  readonly #readClockMs: () => number
  #documentsPerSecond = initialRate
  #changedAt = Number.NEGATIVE_INFINITY

  /** `readClockMs` returns a time that never goes back. */
  constructor(readClockMs: () => number = () => performance.now()) {
    this.#readClockMs = readClockMs
  }

  /**
   * Returns how many documents the next upload should have. With a smaller first upload the engine
   * would start earlier, but each of its batches has a fixed cost of about 0.4 s.
   */
  chooseUploadSize(): number {
    if (this.#isQuiet()) return maxBatch
    const seconds = timeouts.indexing.uploadDuringChanges.ms / 1_000
    return Math.round(Math.min(maxBatch, Math.max(minBatch, this.#documentsPerSecond * seconds)))
  }

  /**
   * Whether another upload may be queued. One is always allowed. After a time without changes, more
   * are allowed: as many as the engine processes in the same time. The best guess is that no change
   * comes for as long again, and a change cancels the queued uploads.
   */
  hasCapacity({ uploads, documents, bytes }: QueuedUploads): boolean {
    if (uploads === 0) return true
    const expectedQuietSeconds = this.#msSinceChange() / 1_000
    return (
      this.#isQuiet() &&
      bytes < maxQueuedBytes &&
      documents < this.#documentsPerSecond * expectedQuietSeconds
    )
  }

  /**
   * Records a change that must soon be searchable, and decides whether the queued uploads are
   * cancelled for it. `isUrgent`: the change has waited too long already.
   */
  recordChange({ documents }: QueuedUploads, isUrgent: boolean): 'cancel queued' | 'keep queued' {
    const wasQuiet = this.#isQuiet()
    this.#changedAt = this.#readClockMs()
    const mustCancel = documents > minBatch && (wasQuiet || isUrgent)
    if (mustCancel) this.#documentsPerSecond = wasQuiet ? initialRate : this.#documentsPerSecond / 2
    return mustCancel ? 'cancel queued' : 'keep queued'
  }

  /** Records that the engine processed this many documents in this time. */
  recordThroughput(documents: number, ms: number): void {
    this.#documentsPerSecond = (documents / ms) * 1_000
  }

  #msSinceChange(): number {
    return this.#readClockMs() - this.#changedAt
  }

  #isQuiet(): boolean {
    return this.#msSinceChange() > timeouts.indexing.quietPeriod.ms
  }
}
