// Finds Chromium for the tests and benchmarks: CHROMIUM_BIN, the PATH, or the Debian package, which
// root installs.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runChild } from './child-lifetime.ts'
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
  const existing = process.env.CHROMIUM_BIN || findOnPath()
  if (existing) return existing
  const problem = await install(reportProgress)
  const installed = findOnPath()
  if (installed === undefined) {
    throw new Error(
      `The tests need a real Chromium (${problem ?? 'its package contains no program'}): ` +
        'install it, or set CHROMIUM_BIN to its path.',
    )
  }
  return installed
}

function findOnPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return programNames
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the problem, or undefined on success. */
async function install(reportProgress: ReportProgress): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'not on the PATH, and only root can install it'
  const { PATH, http_proxy, https_proxy, no_proxy } = process.env
  const env = {
    PATH: `${PATH}:/usr/sbin:/sbin`,
    http_proxy,
    https_proxy,
    no_proxy,
    LC_ALL: 'C',
    DEBIAN_FRONTEND: 'noninteractive',
  }
  const signal = AbortSignal.timeout(installTimeoutMs)
  const runApt = (...args: string[]) =>
    runChild('apt-get', [...aptOptions, '-qq', ...args], { cwd: '/', env, signal })
  reportProgress('Chromium is missing: installing its package (about half a minute)')
  try {
    await runApt('update')
    let problem = ''
    for (const name of packageNames) {
      const { status, output } = await runApt('install', '-y', '--no-install-recommends', name)
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
