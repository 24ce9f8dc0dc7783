// Drives Chromium with Playwright, through the DevTools protocol.
import { openPage, startBrowser } from '../browser.ts'
import type { OpenPage, Test } from './browser-page.ts'

const isFailedRequest = (message: string) => /Failed to load resource|CORS policy/.test(message)

export async function startChromium(t: Test): Promise<OpenPage> {
  const browser = await startBrowser(t)
  return async (t, { origins, touch = false }) => {
    const screen = touch
      ? { hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } }
      : { viewport: { width: 1280, height: 800 } }
    // Chromium logs each failed request. Firefox and WebKit log none.
    const { page, pageErrors } = await openPage(t, browser, { origins, ...screen }, isFailedRequest)
    return {
      async goto(url) {
        await page.goto(url)
        // Chromium ignores key presses until a page has painted its first frame.
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
      },
      evaluate: (fn, ...args) => page.evaluate(`(${fn.toString()})(...${JSON.stringify(args)})`),
      typeText: (text) => page.keyboard.type(text),
      press: (key) => page.keyboard.press(key),
      click: (x, y) => page.mouse.click(x, y),
      tap: (x, y) => page.touchscreen.tap(x, y),
      readErrors: async () => pageErrors,
    }
  }
}
