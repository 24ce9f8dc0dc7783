// Decides how many documents of a rebuild are uploaded at once and how many uploads may be queued.
// The engine merges queued uploads, and processes one merged upload after another. A change waits
// for all that are queued before it.

// A change waits for one such upload at most, and should be searchable within 5 s.
const uploadDuringChangesMs = 2_500
// Cancelled uploads are lost work. Changes often arrive in groups.
export const quietPeriodMs = 10_000

/** The number of documents in one upload. */
const maxUploadDocuments = 20_000
const minUploadDocuments = 2_500
/** The largest amount of queued uploads. The engine stores them on its disk. */
const maxQueuedBytes = 512_000_000
/** How many documents the engine is assumed to process in a second, until this is measured. */
const initialRate = 1_000

/** The uploads that the engine has accepted and not yet processed. */
export type QueuedUploads = { uploads: number; documents: number; bytes: number }

export class UploadPacing {
  readonly #readClockMs: () => number
  #documentsPerSecond = initialRate
  #changedAtMs = Number.NEGATIVE_INFINITY

  /** `readClockMs` returns a time that never goes back. */
  constructor(readClockMs: () => number = () => performance.now()) {
    this.#readClockMs = readClockMs
  }

  /**
   * Returns how many documents the next upload should have. With a smaller first upload the engine
   * would start earlier, but each upload that it processes has a fixed cost of about 0.4 s.
   */
  chooseUploadSize(): number {
    if (this.#isQuiet()) return maxUploadDocuments
    const seconds = uploadDuringChangesMs / 1_000
    const expected = Math.round(this.#documentsPerSecond * seconds)
    return Math.min(maxUploadDocuments, Math.max(minUploadDocuments, expected))
  }

  /**
   * Whether another upload may be queued. One is always allowed. More are allowed after a time
   * without changes: if no change came for 30 s, as long as less than 30 s of work is queued. A
   * change cancels the queued uploads.
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
   * Must be called for each change that must soon be searchable. Returns whether the queued uploads
   * must be cancelled for it. `isUrgent`: the change has waited too long already.
   *
   * A cancellation corrects the assumed rate:
   * - After a quiet time, the measured rate is that of large uploads, which are faster for each
   *   document than the small ones that follow. The initial rate is assumed again.
   * - While changes arrive, the measured rate was too high. Half of it is assumed.
   */
  handleChange(
    { documents }: QueuedUploads,
    { isUrgent }: { isUrgent: boolean },
  ): 'cancel_queued' | 'keep_queued' {
    const wasQuiet = this.#isQuiet()
    this.#changedAtMs = this.#readClockMs()
    const mustCancel = documents > minUploadDocuments && (wasQuiet || isUrgent)
    if (mustCancel) this.#documentsPerSecond = wasQuiet ? initialRate : this.#documentsPerSecond / 2
    return mustCancel ? 'cancel_queued' : 'keep_queued'
  }

  /** Notes that the engine processed this many documents in this time. */
  noteThroughput(documents: number, ms: number): void {
    this.#documentsPerSecond = (documents / ms) * 1_000
  }

  #msSinceChange(): number {
    return this.#readClockMs() - this.#changedAtMs
  }

  #isQuiet(): boolean {
    return this.#msSinceChange() > quietPeriodMs
  }
}
