// Writes to one index that are sent without waiting for each other.
import { maxTaskNumber } from '../engine/engine-tasks.ts'
import { preventUnhandledRejection } from '../scheduling/prevent-unhandled-rejection.ts'
import {
  isInternalFailure,
  PayloadRejected,
  type Rejection,
  type UploadResult,
} from './document-upload.ts'

type Repeat = () => Promise<UploadResult>

/**
 * The engine may run such writes together, and then they fail together. So each one that fails
 * because of its contents, or perhaps because of another one, is repeated by itself.
 */
export class ConcurrentWrites {
  /** Each resolves with the number of its task. */
  readonly #writes: Promise<number | null>[] = []
  readonly #repeats: Repeat[] = []

  /**
   * Adds a write that has been started. `finish` calls `repeat` if the write is rejected because of
   * its contents, or fails with an internal error, which another write may have caused.
   */
  add(write: Promise<number | null>, repeat: Repeat): void {
    const result = write.catch((error: unknown) => {
      if (!mustRepeat(error)) throw error
      this.#repeats.push(repeat)
      return error instanceof PayloadRejected ? error.taskNumber : null
    })
    this.#writes.push(preventUnhandledRejection(result))
  }

  /** Waits until no write is running. Never rejects. */
  async waitForAll(): Promise<void> {
    await Promise.allSettled(this.#writes)
  }

  /**
   * Waits for all writes, then repeats failed ones, one after the other. Returns the highest number
   * of their tasks and the rejected documents. Throws the error of a write that is not repeated.
   */
  async finish(): Promise<UploadResult> {
    const taskNumbers = await Promise.all(this.#writes)
    const rejected: Rejection[] = []
    for (const repeat of this.#repeats) {
      const result = await repeat()
      rejected.push(...result.rejected)
      taskNumbers.push(result.taskNumber)
    }
    return { rejected, taskNumber: maxTaskNumber(taskNumbers) }
  }
}

/** Whether an upload was rejected, or a deletion failed, perhaps together with such an upload. */
const mustRepeat = (error: unknown) => error instanceof PayloadRejected || isInternalFailure(error)
