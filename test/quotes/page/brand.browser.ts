// The logo and the accent colour of the company in a real browser: size, policy and contrast.
import t from 'tap'
import { readBrand } from '../../../src/company/brand.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../../support/browser.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'

t.setTimeout(600_000)
// An SVG without width and height has no size of its own.
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40">' +
  '<rect width="120" height="40" fill="#7a1fa2"/></svg>'
const logo = `data:image/svg+xml;base64,${Buffer.from(drawing).toString('base64')}`

t.test('the logo is visible and the colour readable, light and dark', async (t) => {
  const { brand } = readBrand({ logo, accentColor: '#7a1fa2' }, 'company.json')
  const { app, url: path } = await startServiceWithLink(t, { brand })
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${base}${path}`
  const browser = await startBrowser(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, pageErrors } = await openPage(t, browser, { origins: [base], colorScheme })
    await page.goto(url)
    const box = await page.locator('.logo').boundingBox()
    t.match(box, { height: 48 })
    t.ok(box && box.width > 100 && box.width <= 144, `${box?.width} pixels wide`)
    t.same(await findAccessibilityViolations(page), [], colorScheme)
    t.same(pageErrors, [], 'the policy of the page allows the logo and the style')
  }
})
