// The page /docs in a browser: what it shows, on a screen and on a phone.
import t from 'tap'
import { describeApi } from '../../src/routes.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
const browser = await startBrowser(t)
const service = await testService(t, { index: false })
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 })

/** What Swagger UI itself violates. Everything else must pass. */
const violatedBySwaggerUi = ['nested-interactive', 'select-name', 'landmark-unique', 'region']

t.test(
  'shows every endpoint and parameter, and sends a request that the reader tries',
  async (t) => {
    const { page, pageErrors } = await openPage(t, browser, { origins: [origin] })
    await page.goto(`${origin}/docs`)
    for (const [path, { get }] of Object.entries(describeApi(service.config).paths)) {
      const block = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) })
      await block.locator('.opblock-summary-control').click()
      for (const { name } of get.parameters as { name: string }[])
        await block.locator(`tr[data-param-name="${name}"]`).first().waitFor()
      for (const status of Object.keys(get.responses as object))
        await block.locator(`tr.response[data-code="${status}"]`).waitFor()
    }
    const search = page.locator('.opblock', { has: page.locator('[data-path="/api/search"]') })
    await search.getByRole('button', { name: 'Try it out' }).click()
    const request = page.waitForRequest((request) => request.url().includes('/api/search?'))
    await search.getByRole('button', { name: 'Execute' }).click()
    t.ok(await request)
    t.same(pageErrors, [])
  },
)

t.test('is accessible and does not scroll sideways', async (t) => {
  for (const width of [390, 1440]) {
    const { page, pageErrors } = await openPage(t, browser, {
      origins: [origin],
      viewport: { width, height: 844 },
    })
    await page.goto(`${origin}/docs`)
    await page.locator('.opblock').first().waitFor()
    t.same(await findAccessibilityViolations(page, violatedBySwaggerUi), [], `${width}`)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    t.ok(overflow <= 0, `${width}: no horizontal scrolling`)
    t.same(pageErrors, [], `${width}`)
  }
})
