// Starts Chromium for tests and opens pages that record every error. The browser reaches only this
// machine.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core'
import { findChromium } from '../../scripts/servers/chromium.ts'

/** The part of tap's test that these functions need. */
type Test = { teardown(fn: () => unknown): void }

const hostRules = [
  // *.example.test stands for other origins on this machine. Every other name is not found.
  'MAP *.example.test 127.0.0.1',
  'MAP * ~NOTFOUND',
  'EXCLUDE 127.0.0.1',
  'EXCLUDE localhost',
].join(', ')

/**
 * Starts a browser with an empty profile and closes it when the test ends. One browser per test
 * file is enough, because contexts share nothing.
 */
export async function startBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: await findChromium((line) => console.error(line)),
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=${hostRules}`,
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

export type WatchedPage = {
  page: Page
  context: BrowserContext
  /**
   * Errors so far: console errors and warnings, exceptions, violations of the page's
   * Content-Security-Policy, and requests to other origins than `origins`. A test fails if there
   * are any at its end; it removes those that it expects.
   */
  pageErrors: string[]
}

/** Without `origins`, a page may send requests to any. */
type PageOptions = BrowserContextOptions & { origins?: string[] }

/**
 * Opens a page in its own context that may send requests to `origins` only. Chromium reports every
 * error response in the console. `isExpectedError` returns true for messages to ignore.
 */
export async function openPage(
  t: Test,
  browser: Browser,
  { origins, ...options }: PageOptions,
  isExpectedError: (message: string) => boolean = () => false,
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  const pageErrors: string[] = []
  t.teardown(async () => {
    const errors = pageErrors.join('\n')
    await context.close()
    if (errors !== '') throw new Error(`errors of the page: ${errors}`)
  })
  await reportPolicyViolations(context, pageErrors)
  const page = await context.newPage()
  page.on('pageerror', (error) => {
    if (!isExpectedError(error.message)) pageErrors.push(`exception: ${error.stack}`)
  })
  page.on('console', (message) => {
    if (!['error', 'warning', 'assert'].includes(message.type())) return
    const text = `${message.text()} (${message.location().url})`
    if (!isExpectedError(text)) pageErrors.push(`console: ${text}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origins && !['data:', 'blob:', 'about:'].includes(protocol) && !origins.includes(origin))
      pageErrors.push(`request to ${request.url()}`)
  })
  return { page, context, pageErrors }
}

async function reportPolicyViolations(context: BrowserContext, pageErrors: string[]) {
  await context.exposeBinding(
    '__reportPolicyViolation',
    (_source, text: string) => void pageErrors.push(`policy: ${text}`),
  )
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) => {
      const { __reportPolicyViolation } = window as unknown as {
        __reportPolicyViolation(text: string): void
      }
      __reportPolicyViolation(`${effectiveDirective}: ${blockedURI} ${sample}`)
    })
  })
}

const axeSource = await readFile(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/**
 * Returns what axe finds in the page, including shadow trees: violations of WCAG 2.2 AA and of its
 * best practices, one line per element. `ignoredRules` excludes rules about whole pages, for pages
 * of which the service renders only a part.
 */
export async function findAccessibilityViolations(
  page: Page,
  ignoredRules: string[] = [],
): Promise<string[]> {
  // Runs through the DevTools protocol, because the page's own policy may forbid the script.
  const session = await page.context().newCDPSession(page)
  try {
    const { result: type } = await session.send('Runtime.evaluate', { expression: 'typeof axe' })
    if (type.value === 'undefined')
      await session.send('Runtime.evaluate', { expression: axeSource })
    return await runAxe(session, ignoredRules)
  } finally {
    await session.detach()
  }
}

async function runAxe(session: CDPSession, ignoredRules: string[]): Promise<string[]> {
  const rules = Object.fromEntries(ignoredRules.map((name) => [name, { enabled: false }]))
  // Only rules that are not enabled need the style sheets in advance (preload).
  const options = { rules, resultTypes: ['violations'], preload: false }
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe
      .run(document, ${JSON.stringify(options)})
      .then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, failureSummary }) =>
          id + ': ' + help + ' ' + JSON.stringify(target) + ' ' + failureSummary)))`,
    awaitPromise: true,
    returnByValue: true,
  })
  if (exceptionDetails)
    throw new Error(`axe: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
  return result.value as string[]
}
