// A real browser for tests: Debian's Chromium, that reaches this machine and nothing else, and pages that report every fault.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { findChromium } from '../../scripts/servers/chromium.ts'

/** As much of tap's test as is needed here. */
type Test = { teardown(fn: () => unknown): void }

/** Starts a browser with an empty profile; closed when the test ends. One for a file is enough: contexts share nothing. */
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
      // Whatever a page asks for elsewhere is not found, as behind a firewall; *.example.test are origins of our own.
      '--host-resolver-rules=MAP *.example.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

export type WatchedPage = {
  page: Page
  context: BrowserContext
  /** What must not happen: errors in the console, exceptions, breaches of a policy, requests to other places than `origins`. */
  faults: string[]
}

type PageOptions = BrowserContextOptions & { origins: string[] }

/**
 * A page in a context of its own that may talk to `origins` only. A request that is answered with an error, which Chromium reports in the console
 * by itself, is no fault when `expected` holds for its text.
 */
export async function openPage(
  t: Test,
  browser: Browser,
  { origins, ...options }: PageOptions,
  expected: (text: string) => boolean = () => false,
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const faults: string[] = []
  const page = await context.newPage()
  page.on('pageerror', (error) => faults.push(`exception: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (!['error', 'warning', 'assert'].includes(message.type())) return
    const text = `${message.text()} (${message.location().url})`
    if (!expected(text)) faults.push(`console: ${text}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (!['data:', 'blob:', 'about:'].includes(protocol) && !origins.includes(origin))
      faults.push(`request to ${request.url()}`)
  })
  await context.exposeBinding(
    '__reportPolicyBreach',
    (_source, text: string) => void faults.push(`policy: ${text}`),
  )
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) => {
      const { __reportPolicyBreach } = window as unknown as {
        __reportPolicyBreach(text: string): void
      }
      __reportPolicyBreach(`${effectiveDirective}: ${blockedURI} ${sample}`)
    })
  })
  return { page, context, faults }
}

const axeSource = await readFile(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/**
 * What axe finds in the page as it is now, shadow trees included: WCAG 2.2 AA and its best practices. One line for each element with a finding.
 * `without` names rules that are about a whole page where only a part is ours.
 */
export async function axe(page: Page, without: string[] = []): Promise<string[]> {
  // Through the browser's protocol, since a page's own policy need not allow it.
  const session = await page.context().newCDPSession(page)
  try {
    const rules = Object.fromEntries(without.map((name) => [name, { enabled: false }]))
    const run = `axe.run(document, ${JSON.stringify({ rules, resultTypes: ['violations'] })}).then(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => id + ': ' + help + ' ' + JSON.stringify(target) + ' ' + failureSummary)))`
    const { result: known } = await session.send('Runtime.evaluate', { expression: 'typeof axe' })
    if (known.value === 'undefined')
      await session.send('Runtime.evaluate', { expression: axeSource })
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: run,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails)
      throw new Error(`axe: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
    return result.value as string[]
  } finally {
    await session.detach()
  }
}
