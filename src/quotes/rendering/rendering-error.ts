// The error of a rendering that has no result, with the reason.
import { timeouts } from '../../timeouts.ts'

/**
 * - `failed`: the document caused a failure now or before. It may be tried again later.
 * - `queue-full`: too many other renderings wait.
 * - `pending`: it takes longer than a request waits. It continues, and a later request gets it.
 * - `refused`: no PDF can ever show this quote. The message says why.
 * - `starved`: its process hardly ran, because the machine is busy. The document is not the cause.
 * - `stopping`: the service is stopping. Another process of the service can render it.
 */
export type RenderingErrorReason =
  | 'failed'
  | 'queue-full'
  | 'pending'
  | 'refused'
  | 'starved'
  | 'stopping'

type RenderingErrorOptions = { retryAfterMs?: number; cause?: unknown }

export class RenderingError extends Error {
  readonly reason: RenderingErrorReason
  /** The time after which the rendering may be requested again. */
  readonly retryAfterMs: number

  constructor(
    reason: RenderingErrorReason,
    message: string,
    { retryAfterMs = getRetryAfterMs(reason), cause }: RenderingErrorOptions = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

function getRetryAfterMs(reason: RenderingErrorReason): number {
  const isPending = reason === 'pending' || reason === 'stopping'
  return timeouts.quotes[isPending ? 'pendingRetryAfter' : 'retryAfter'].ms
}
