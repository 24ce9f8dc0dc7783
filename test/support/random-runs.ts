// How often a random check plays by default, and how often in the long tests.

/**
 * Returns options of fast-check: `few` runs from `seed`. RANDOM_RUNS sets another number of runs,
 * with a new seed each time.
 */
export function randomRuns(few: number, seed: number): { numRuns: number; seed?: number } {
  const { RANDOM_RUNS } = process.env
  return RANDOM_RUNS ? { numRuns: Number(RANDOM_RUNS) } : { numRuns: few, seed }
}
