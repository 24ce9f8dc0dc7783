// Finds Chromium for the tests and benchmarks: CHROMIUM_BIN, the PATH, or the Debian package, which
// root installs.
import { findOnPath, runApt } from './programs.ts'
import type { ReportProgress } from './running-server.ts'

/** The headless shell first: without a user interface it needs a third of the processor time. */
const programNames = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
]
/** Debian has had the headless shell since its version 12; other systems may lack it. */
const packageNames = ['chromium-headless-shell', 'chromium']
const installTimeoutMs = 240_000
/** Test files that install it at the same time wait for each other's lock. */
const aptOptions = ['-o', 'Acquire::Retries=2', '-o', 'DPkg::Lock::Timeout=200']

/**
 * Returns the path of a Chromium, which is installed if it is missing. Throws an error that says
 * what to do if that fails: the tests never run without a real browser.
 */
export async function findChromium(
  reportProgress: ReportProgress = () => undefined,
): Promise<string> {
  const existing = process.env.CHROMIUM_BIN || findOnPath(...programNames)
  if (existing) return existing
  const problem = await install(reportProgress)
  const installed = findOnPath(...programNames)
  if (installed === undefined) {
    throw new Error(
      `The tests need a real Chromium (${problem ?? 'its package contains no program'}): ` +
        'install it, or set CHROMIUM_BIN to its path.',
    )
  }
  return installed
}

/** Returns the problem, or undefined on success. */
async function install(reportProgress: ReportProgress): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'not on the PATH, and only root can install it'
  const signal = AbortSignal.timeout(installTimeoutMs)
  const apt = (...args: string[]) => runApt([...aptOptions, '-qq', ...args], signal)
  reportProgress('Chromium is missing: installing its package (about half a minute)')
  try {
    await apt('update')
    let problem = ''
    for (const name of packageNames) {
      const { status, output } = await apt('install', '-y', '--no-install-recommends', name)
      if (status === 0) return undefined
      problem = output.trim().split('\n').at(-1) ?? `apt-get ended with status ${status}`
    }
    return problem
  } catch (error) {
    return signal.aborted
      ? `its package did not arrive within ${installTimeoutMs / 60_000} minutes`
      : `there is no apt-get to install it: ${error}`
  }
}
