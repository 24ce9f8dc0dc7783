// The sizes of documents and renderings, and of the caches of rendered quotes.

/**
 * A child process reads and renders larger documents. The main thread takes about 4 ms for a
 * document of this size: canonical JSON of about 90 lines.
 */
export const maxMainThreadDocumentBytes = 32_000
/** The maximum size of a page or its JSON, in bytes before compression. */
export const maxRenderingBytes = 16e6
/** A larger page or JSON is cached in compressed form only. */
export const maxUncompressedCachedBytes = 250_000
/** The memory that the process for large pages may use for objects, in megabytes. */
export const largePageHeapMegabytes = 256
/**
 * The memory that the process for large pages may allocate in all, in bytes. See
 * RenderingProcessOptions. The process reaches 1.3 GB after twenty pages of 2,000 lines, and 1.5 GB
 * after twenty of 8,000 lines.
 */
export const largePageDataBytes = 2_000e6

/** The maximum size of the cache of pages and JSON, in bytes. */
export const pageAndJsonCacheBytes = 16e6
/** The maximum size of the cache of PDFs, in bytes. */
export const pdfCacheBytes = 32e6

/** The maximum number of queued renderings of one kind, not counting the running one. */
export const maxQueuedRenderings = 30

/** The nice value of rendering processes. The service itself has 0, so requests come first. */
export const renderingPriority = 10
