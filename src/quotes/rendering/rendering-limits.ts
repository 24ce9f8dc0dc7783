// The sizes of documents and renderings, and of the caches of rendered quotes.

/**
 * A larger document (canonical JSON, about 90 lines) is read and rendered by another process: one
 * of this size takes the main thread about 4 ms.
 */
export const maxMainThreadDocumentBytes = 32_000
/** The maximum size of a page or its JSON, in bytes before compression. */
export const maxRenderingBytes = 16e6
/** A larger page or JSON is cached in compressed form only. */
export const maxUncompressedCachedBytes = 250_000
/** The memory that the process for large pages may use for objects, in megabytes. */
export const largePageHeapMegabytes = 256
/**
 * The memory that this process may allocate in all. See RenderingProcessOptions. Twenty pages of
 * 2,000 lines reach 1.3 GB, and of 8,000 lines 1.5 GB.
 */
export const largePageDataBytes = 2_000e6

/** The maximum size of the cache of pages and JSON. */
export const pageAndJsonCacheBytes = 16e6
/** The maximum size of the cache of PDFs. */
export const pdfCacheBytes = 32e6

/** How many renderings of one kind may wait, without the one that runs. */
export const maxQueuedRenderings = 30

/** The priority of renderings (nice). Requests have 0, which comes first. */
export const renderingPriority = 10
