// The buckets of the histogram of response times (tqs_request_duration_seconds).

/** The upper bound of each bucket in milliseconds. The metric states them in seconds. */
export const bucketBoundsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000]
