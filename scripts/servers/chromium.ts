// The browser of the tests: Chromium from the system, installed by root on Debian and its kin.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runChild } from './child-lifetime.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
const installLimitMs = 240_000

/**
 * The path of a Chromium: CHROMIUM_BIN, else one on the PATH, else root installs the package on Debian. Throws with what to do when there is none
 * to be had: tests are never run without a real browser.
 */
export async function findChromium(
  reportProgress: (line: string) => void = () => undefined,
): Promise<string> {
  const given = process.env.CHROMIUM_BIN || onPath()
  if (given) return given
  const problem = await install(reportProgress)
  const installed = onPath()
  if (installed === undefined) {
    throw new Error(
      `The tests need a real Chromium (${problem ?? 'its package brought no program'}): install it, or set CHROMIUM_BIN to its path.`,
    )
  }
  return installed
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Answers what hindered it, undefined for nothing. */
async function install(reportProgress: (line: string) => void): Promise<string | undefined> {
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
  // Test files that come here at once wait for each other.
  const patience = ['-o', 'Acquire::Retries=2', '-o', 'DPkg::Lock::Timeout=200']
  const signal = AbortSignal.timeout(installLimitMs)
  const apt = (...words: string[]) =>
    runChild('apt-get', [...patience, '-qq', ...words], { cwd: '/', env, signal })
  reportProgress('Chromium is not here: installing the package chromium (half a minute)')
  try {
    await apt('update')
    const { status, output } = await apt('install', '-y', '--no-install-recommends', 'chromium')
    return status === 0
      ? undefined
      : (output.trim().split('\n').at(-1) ?? `apt-get ended with ${status}`)
  } catch (error) {
    return signal.aborted
      ? 'its package did not arrive within four minutes'
      : `no apt-get to install it: ${error}`
  }
}
