// Creates a directory for one test.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Returns the path of a new directory, whose name begins with `tqs-` and `name`. It is deleted when
 * the test ends.
 */
export function createTemporaryDirectory(
  t: { teardown(fn: () => unknown): void },
  name: string,
): string {
  const directory = mkdtempSync(join(tmpdir(), `tqs-${name}-`))
  // When root runs the tests, servers run under another account, which must be able to enter.
  chmodSync(directory, 0o755)
  // The servers of a killed program may still write their last files.
  const patience = { maxRetries: 20, retryDelay: 250 }
  t.teardown(() => rmSync(directory, { recursive: true, force: true, ...patience }))
  return directory
}
