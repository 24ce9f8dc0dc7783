// The limits of rendering: sizes of documents and caches, and time and memory of the processes.

// One rendering may use at least 15 s of it. A PDF of 2,000 lines takes 1.4 s.
const maxProcessorMs = 35_000
// The next rendering may need much of the 35 s. A start takes 0.5 s.
const replaceAboveProcessorMs = 20_000
// Beside twenty busy processes on two cores it gets about a hundredth of a core.
const maxElapsedMs = 300_000
// The next large PDF uses the memory again. Freeing it in between delays other requests.
const idlePdfProcessMs = 10_000

/**
 * A child process renders larger documents. The main thread takes about 4 ms for a document of this
 * size: canonical JSON of about 90 lines.
 */
export const maxMainThreadDocumentBytes = 32_000
/** The maximum size of a page or its JSON, in bytes before compression. */
export const maxPageOrJsonBytes = 16e6
/** A larger page or JSON is cached in compressed form only. */
export const maxUncompressedCachedBytes = 250_000
export const pageAndJsonCacheBytes = 16e6
export const pdfCacheBytes = 32e6
/** The maximum number of queued renderings of one kind, not counting the running one. */
export const maxQueuedRenderings = 30
/** What rendering processes add to the nice value of the service, so that requests come first. */
export const renderingNiceIncrement = 10

/**
 * The limits of a process that renders. At `maxProcessorMs` the kernel ends it. At `maxDataBytes`
 * it gets no more memory, and Node ends itself.
 */
export type RenderingProcessLimits = {
  /**
   * The processor time of all its threads since its start, over all its renderings (RLIMIT_CPU),
   * rounded up to seconds. Elapsed time would also count the time in which a busy machine did not
   * run the process.
   */
  maxProcessorMs: number
  /**
   * The memory in bytes that it may allocate (RLIMIT_DATA). Node reserves 0.6 to 1.2 GB when it
   * starts, and uses little of that.
   */
  maxDataBytes: number
  /**
   * The elapsed time of one rendering. This limit is for a process that the machine does not run,
   * so that its processor time hardly grows.
   */
  maxElapsedMs: number
  /**
   * The process is replaced once it has used more than this. So each rendering has at least the
   * difference between `maxProcessorMs` and `processorMs`.
   */
  replaceAbove: { processorMs: number; residentBytes?: number }
  /**
   * An idle process is replaced after `idleMs` if it has more memory than this. Until then it keeps
   * the memory for the next large PDF. Freeing and allocating so much for each PDF costs the kernel
   * 300 ms instead of 20 ms, and delays other requests.
   */
  replaceIdleAbove?: { residentBytes: number; idleMs: number }
}

/**
 * A PDF of 2,000 lines takes about 1.4 s and 510 MB. After many of them the process uses up to
 * 640 MB, because Typst does not free its memory. A PDF of 4,000 lines exceeds the memory.
 */
export const pdfProcessLimits = {
  maxProcessorMs,
  maxDataBytes: 1_300e6,
  maxElapsedMs,
  replaceAbove: {
    processorMs: replaceAboveProcessorMs,
    residentBytes: 660e6,
  },
  replaceIdleAbove: { residentBytes: 400e6, idleMs: idlePdfProcessMs },
} satisfies RenderingProcessLimits

/**
 * No limit of resident memory, because V8 returns memory to the system. The process reaches 1.3 GB
 * of allocated memory after twenty pages of 2,000 lines, and 1.5 GB after twenty of 8,000 lines.
 */
export const largePageProcessLimits: RenderingProcessLimits = {
  maxProcessorMs,
  maxDataBytes: 2_000e6,
  maxElapsedMs,
  replaceAbove: { processorMs: replaceAboveProcessorMs },
}
/** The size of the heap (V8's old space) of the process for large pages, in megabytes. */
export const largePageHeapMegabytes = 256
