// What tests that run in several browsers need of a page. Each browser has a driver of its own.
import { startChromium } from './chromium-driver.ts'
import { startFirefox } from './firefox-driver.ts'
import { startWebKit } from './webkit-driver.ts'

/** The part of tap's test that drivers need. */
export type Test = { teardown(fn: () => unknown): void }

export type PageOptions = {
  /** The origins to which the page may send requests. */
  origins: string[]
  /** Opens the page on a touch screen without a mouse. */
  touch?: boolean
}

/** A page in a browser without stored data. It is closed when the test ends. */
export type BrowserPage = {
  goto(url: string): Promise<void>
  /** Runs a function in the page. Arguments and result must be serializable. */
  evaluate<Result, Args extends unknown[]>(
    fn: (...args: Args) => Result,
    ...args: Args
  ): Promise<Awaited<Result>>
  typeText(text: string): Promise<void>
  /** Presses a key, for example `Enter` or `Control+k`. */
  press(key: string): Promise<void>
  click(x: number, y: number): Promise<void>
  tap(x: number, y: number): Promise<void>
  /**
   * Returns the errors so far: exceptions, console errors, violations of the page's policy, and
   * requests to other origins. WebKit reports none of them, so its pages must load
   * error-recorder.js, and requests to other origins are not seen.
   */
  readErrors(): Promise<string[]>
}

export type OpenPage = (t: Test, options: PageOptions) => Promise<BrowserPage>

const drivers: Record<string, (t: Test) => Promise<OpenPage>> = {
  chromium: startChromium,
  firefox: startFirefox,
  webkit: startWebKit,
}

/** Returns the browsers of TEST_BROWSERS, for example `firefox,webkit`. By default Chromium. */
export function findTestBrowsers(): string[] {
  const names = (process.env.TEST_BROWSERS || 'chromium').split(',')
  for (const name of names) {
    if (!(name in drivers))
      throw new Error(`TEST_BROWSERS contains "${name}": use ${Object.keys(drivers).join(', ')}.`)
  }
  return names
}

/** Starts a browser. It is closed when the test ends. Returns a function that opens pages. */
export function startTestBrowser(t: Test, name: string): Promise<OpenPage> {
  const start = drivers[name]
  if (!start) throw new Error(`There is no driver for ${name}.`)
  return start(t)
}
