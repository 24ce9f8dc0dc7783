// The page /docs in a browser: copy buttons, and contents on phones.
import t from 'tap'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(120_000)
const browser = await startBrowser(t)
const service = await testService(t, { index: false })
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 })

t.test('copies a code sample, by pointer and by keyboard', async (t) => {
  const { page, pageErrors } = await openPage(t, browser, {
    origins: [origin],
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.goto(`${origin}/docs`)
  const button = page.getByRole('button', { name: 'Copy: curl' }).first()
  const code = await page.textContent('.sample code >> nth=0')
  await button.click()
  await page.waitForSelector('#announcement:has-text("Copied")')
  t.equal(await page.evaluate(() => navigator.clipboard.readText()), code)
  await page.waitForSelector('#announcement:empty', { state: 'attached' })
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await button.focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector('#announcement:has-text("Copied")')
  t.equal(await page.evaluate(() => navigator.clipboard.readText()), code)
  t.same(pageErrors, [])
})

t.test('shows no copy buttons without a script', async (t) => {
  const { page } = await openPage(t, browser, { origins: [origin], javaScriptEnabled: false })
  await page.goto(`${origin}/docs`)
  t.ok((await page.locator('.copy').count()) > 0)
  t.equal(await page.locator('.copy:visible').count(), 0)
})

t.test('is accessible, and phones see all of the contents', async (t) => {
  for (const [language, colorScheme, width] of [
    ['es', 'light', 390],
    ['en', 'dark', 390],
    ['es', 'dark', 1440],
    ['en', 'light', 1440],
  ] as const) {
    const { page, pageErrors } = await openPage(t, browser, {
      origins: [origin],
      colorScheme,
      viewport: { width, height: 844 },
    })
    await page.goto(`${origin}/docs?lang=${language}`)
    const name = `${language} ${colorScheme} ${width}`
    t.same(await findAccessibilityViolations(page), [], name)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    t.equal(overflow, 0, `${name}: no horizontal scrolling`)
    const hidden = await page.$$eval('nav > ul > li > a', (links) =>
      links
        .filter((link) => {
          const { left, right } = link.getBoundingClientRect()
          return left < 0 || right > innerWidth
        })
        .map((link) => link.textContent),
    )
    t.same(hidden, [], `${name}: every entry of the contents is visible`)
    t.same(pageErrors, [], name)
  }
})
