// The page /docs in a browser: copy buttons, contents on phones, and the Spanish texts.
import t from 'tap'
import { spanishOperations } from '../../src/api-docs/docs-page/spanish-operations.ts'
import { spanishTexts } from '../../src/api-docs/docs-page/spanish-texts.ts'
import {
  identifySource,
  translateDocument,
  translateText,
} from '../../src/api-docs/docs-page/translate-document.ts'
import { describeApi, operations } from '../../src/app.ts'
import { problemKinds } from '../../src/http/problem-details.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { testService } from '../support/test-service.ts'

t.setTimeout(120_000)
const browser = await startBrowser(t)
const service = await testService(t, { index: false })
const origin = await service.app.listen({ host: '127.0.0.1', port: 0 })

t.test('the language is that of ?lang=, else of the browser, else English', async (t) => {
  const read = async (url: string, accepted?: string) => {
    const headers = accepted === undefined ? {} : { 'accept-language': accepted }
    const response = await service.app.inject({ url, headers })
    t.equal(response.headers.vary, 'accept-language')
    return /<html lang="(\w+)">/.exec(response.body)?.[1]
  }
  t.equal(await read('/docs'), 'en')
  t.equal(await read('/docs', 'fr'), 'en')
  t.equal(await read('/docs', 'es-MX,es;q=0.9,en;q=0.8'), 'es')
  t.equal(await read('/docs?lang=en', 'es'), 'en')
  t.equal(await read('/docs?lang=es'), 'es')
  t.equal(await read('/docs?lang=xx'), 'en')
})

t.test('every text of the document has a current Spanish translation', async (t) => {
  const document = describeApi(service.config)
  const missing: string[] = []
  const used = new Set<string>()
  const onText = (text: string) => used.add(text)
  const onMissing = (text: string) => missing.push(text)
  translateDocument(document.paths, onMissing, onText)
  translateDocument(document.components.headers, onMissing, onText)
  translateDocument(document.components.schemas, onMissing, onText)
  for (const { title } of Object.values(problemKinds)) translateText(title, onMissing, onText)
  for (const { description } of operations.flatMap(({ exampleRequests }) => exampleRequests))
    translateText(description, onMissing, onText)
  t.same(missing, [], 'src/api-docs/docs-page/spanish-texts.ts has every text')
  t.same(
    Object.keys(spanishTexts).filter((text) => !used.has(text)),
    [],
    'and no text that the document does not have any more',
  )
  for (const { id, ...operation } of operations) {
    t.equal(
      spanishOperations[id]?.translatedFrom,
      identifySource(operation),
      `the Spanish text of ${id} is that of its English text: revise it after each change`,
    )
  }
})

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
