// Drives Firefox with Puppeteer, through WebDriver BiDi. Playwright's driver for it needs a command
// that Firefox ESR does not have (emulation.setMediaFeaturesOverride).
import { existsSync } from 'node:fs'
import puppeteer, { type Browser, type KeyInput, type Page } from 'puppeteer-core'
import type { OpenPage, Test } from './browser-page.ts'
import { splitKey } from './split-key.ts'

const program = process.env.FIREFOX_BIN || '/usr/bin/firefox-esr'

/** The only pointing device is a touch screen: coarse, and it cannot hover. */
const touchScreenPreferences = {
  'dom.w3c_touch_events.enabled': 1,
  'ui.primaryPointerCapabilities': 1,
  'ui.allPointerCapabilities': 1,
}

/** Throws an error that says what to install if Firefox is missing. */
export async function startFirefox(t: Test): Promise<OpenPage> {
  if (!existsSync(program))
    throw new Error(`${program} is missing: install firefox-esr, or set FIREFOX_BIN.`)
  const browser = await launch(t)
  return async (t, { origins, touch = false }) => {
    const suitable = touch ? await launch(t, touchScreenPreferences) : browser
    const context = await suitable.createBrowserContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.setViewport({ width: touch ? 390 : 1280, height: 800 })
    const errors = recordErrors(page, origins)
    return {
      goto: async (url) => void (await page.goto(url)),
      evaluate: (fn, ...args) =>
        page.evaluate(`(${fn.toString()})(...${JSON.stringify(args)})`) as Promise<never>,
      typeText: (text) => page.keyboard.type(text),
      async press(pressed) {
        const { modifiers, key } = splitKey(pressed)
        for (const modifier of modifiers) await page.keyboard.down(modifier as KeyInput)
        await page.keyboard.press(key as KeyInput)
        for (const modifier of modifiers) await page.keyboard.up(modifier as KeyInput)
      },
      click: (x, y) => page.mouse.click(x, y),
      tap: (x, y) => page.touchscreen.tap(x, y),
      readErrors: async () => errors,
    }
  }
}

async function launch(t: Test, extraPrefsFirefox: Record<string, unknown> = {}): Promise<Browser> {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: program,
    headless: true,
    extraPrefsFirefox,
  })
  t.teardown(() => browser.close())
  return browser
}

function recordErrors(page: Page, origins: string[]): string[] {
  const errors: string[] = []
  page.on('pageerror', (error) => void errors.push(`exception: ${String(error)}`))
  page.on('console', (message) => {
    if (['error', 'assert'].includes(message.type())) errors.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (!['data:', 'blob:', 'about:'].includes(protocol) && !origins.includes(origin))
      errors.push(`request to ${request.url()}`)
  })
  return errors
}
