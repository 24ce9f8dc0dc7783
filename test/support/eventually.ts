// Waits for what a test expects, without tap, so that benchmarks can use it too.

/**
 * Polls `ask` until `check` holds, and returns the last result. The limit is generous: tests claim
 * what happens, not how fast.
 */
export async function eventually<Result>(
  ask: () => Promise<Result>,
  check: (result: Result) => boolean,
  limitMs = 20_000,
): Promise<Result> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const result = await ask()
    if (check(result) || performance.now() > deadline) return result
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
