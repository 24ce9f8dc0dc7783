// How much at a time something slower than this process can do well, found out by watching how long it takes.

export type Fitting = {
  /** So many at a time. */
  limit(): number
  /** One of so many that were under way was finished in so many milliseconds. */
  took(ms: number, inside: number): void
}

/** With as few under way as this, the time that one takes is its own. */
const few = 2
/** With as much as can be done at a time under way, one takes so many times its own time: less is room to spare, more is only waiting. */
const fits = { from: 3, to: 4 }
const step = 0.1
/** Until a moment of calm has shown it: the time that one takes alone in milliseconds, believed like so many that were seen. */
const supposed = { mean: 5, seen: 20 }

/**
 * Begins in the middle, and goes down while what is under way takes much longer than alone, and up while it does not although there is no more room.
 * That the limit follows the ratio of the two times, as in the gradient and Vegas algorithms for congestion, makes it the same for a slow server and a
 * fast one; that it compares averages, and not with the fastest ever seen, makes it good for work of many sizes.
 */
export function fitting({
  least,
  most,
  first,
}: {
  least: number
  most: number
  first: number
}): Fitting {
  let limit = first
  const alone = average(100, supposed)
  const together = average(20)

  return {
    limit: () => Math.round(limit),
    took(ms, inside) {
      if (inside <= few) return alone.add(ms)
      together.add(ms)
      const ratio = together.value() / alone.value()
      if (ratio > fits.to) limit = Math.max(least, limit - step)
      else if (ratio < fits.from && inside >= Math.round(limit))
        limit = Math.min(most, limit + step)
    },
  }
}

/** Of about the last so many. */
function average(
  count: number,
  { mean, seen } = { mean: 0, seen: 0 },
): { add(value: number): void; value(): number } {
  return {
    add(value) {
      seen = Math.min(count, seen + 1)
      mean += (value - mean) / seen
    },
    value: () => mean,
  }
}
