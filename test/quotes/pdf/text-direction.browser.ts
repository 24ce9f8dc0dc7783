// What a reader sees is the same in the PDF and on the page: words of mixed directions are in the
// same order on each line.
import { readdirSync, readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf'
import { defaultBrand } from '../../../src/company/brand.ts'
import { createUnsupportedCharacterFinder } from '../../../src/quotes/pdf/font-coverage.ts'
import { isRightToLeft } from '../../../src/quotes/pdf/pdf-text.ts'
import { compilePdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import { openPage, startBrowser } from '../../support/browser.ts'
import { fillQuote, linkedQuote, withDocument } from '../../support/quotes/linked-quote.ts'
import { renderPage } from '../../support/quotes/render-page.ts'

t.setTimeout(600_000)
const browser = await startBrowser(t)

/** Removes what no reader sees. Compatibility forms become letters, and groups lose their case. */
const normalize = (text: string) => text.normalize('NFKC').replace(/\p{Cf}|\s/gu, '')

/** Returns the lines of a PDF, each with its characters from left to right, without white space. */
async function readPdfLines(quote: LinkedQuote): Promise<string[]> {
  const { OPS } = await getResolvedPDFJS()
  const document = await getDocumentProxy(new Uint8Array(compilePdf(quote, 'es', defaultBrand).pdf))
  const lines: string[] = []
  for (let number = 1; number <= document.numPages; number += 1) {
    const { fnArray, argsArray } = await (await document.getPage(number)).getOperatorList()
    let lastX = Number.POSITIVE_INFINITY
    fnArray.forEach((operation, index) => {
      if (operation === OPS.setTextMatrix) {
        const [, , , , x = 0] = Object.values(argsArray[index][0] as Record<string, number>)
        // A run of text further right continues the line.
        if (x <= lastX) lines.push('')
        lastX = x
      } else if (operation === OPS.showText) {
        const glyphs = argsArray[index][0] as ({ unicode: string } | number)[]
        const text = glyphs.map((glyph) => (typeof glyph === 'number' ? '' : glyph.unicode))
        lines.push(`${lines.pop() ?? ''}${text.join('')}`)
      }
    })
  }
  return lines.map(normalize)
}

/** Returns the lines of the texts of a quote on the page, in the same form. */
async function readPageLines(page: Page, quote: LinkedQuote): Promise<string[]> {
  await page.setContent(renderPage(quote, 'es', '?'))
  const lines = await page.evaluate(() => {
    const read = (element: Element) => {
      const characters: { text: string; x: number; y: number }[] = []
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (let at = 0; at < (node.textContent ?? '').length; at += 1) {
          const range = document.createRange()
          range.setStart(node, at)
          range.setEnd(node, at + 1)
          const { x, y, width } = range.getBoundingClientRect()
          if (width > 0) characters.push({ text: range.toString(), x: x + width / 2, y })
        }
      const rows = Map.groupBy(characters, ({ y }) => Math.round(y / 12))
      return [...rows.values()].map((row) =>
        row
          .sort((a, b) => a.x - b.x)
          .map(({ text }) => text)
          .join(''),
      )
    }
    return [...document.querySelectorAll('bdi')]
      .filter((element) => element.checkVisibility())
      .flatMap(read)
  })
  return lines.map(normalize)
}

/** Returns the quote with a text of several lines wherever there may be one. */
function fillLongTexts(text: string): LinkedQuote {
  const { seller, buyer, lines, trade } = linkedQuote.document
  return withDocument({
    seller: { ...seller, address: text },
    buyer: { ...buyer, address: text },
    lines: lines.map((line) => ({ ...line, description: text })),
    trade: { ...trade, delivery: text },
    payment: { terms: text },
    legal: [text],
    notes: text,
  })
}

const mixed = {
  'Hebrew first': 'פטיש Bosch דגם 300 XL',
  'Arabic first': 'مطرقة AB 30 غرام',
  'Latin first': 'Hammer פטיש 12 כדור 34 end',
  'a number first': '300 גרם פטיש',
  'brackets and quotation marks': '(12) - "פטיש" ABC.',
  'Hebrew, then Latin': 'פטיש Bosch 300\nHammer דגם 12 פטיש',
  'Latin, then Hebrew': 'Hammer דגם 12 פטיש\nפטיש Bosch 300',
  'a word that may break': 'פטיש ABCDEFGHIJKLMNOPQR 300\nדגם',
  'only numbers': '300 - 12',
}

for (const [name, text] of Object.entries(mixed))
  t.test(`the PDF has the words in the order of the page: ${name}`, async (t) => {
    const { page } = await openPage(t, browser, {
      origins: [],
      viewport: { width: 1600, height: 1200 },
    })
    const quote = text.includes('\n')
      ? fillLongTexts(text)
      : fillQuote(text, 'https://example.com/')
    quote.document.totals = { ...linkedQuote.document.totals, taxLabel: { es: 'מע״מ' } }
    const pdf = (await readPdfLines(quote)).join('\n')
    const lines = await readPageLines(page, quote)
    t.ok(lines.length > 30)
    for (const line of new Set(lines)) t.ok(pdf.includes(line), line)
  })

t.test('the PDF and browsers agree on the direction of each character', async (t) => {
  const { page } = await openPage(t, browser, { origins: [] })
  const fonts = new URL('../../../src/quotes/pdf/fonts/', import.meta.url)
  const findUnsupported = createUnsupportedCharacterFinder(
    readdirSync(fonts)
      .filter((name) => name.endsWith('.ttf'))
      .map((name) => readFileSync(new URL(name, fonts))),
  )
  const characters = Array.from({ length: 0x20000 }, (_, code) =>
    String.fromCodePoint(code),
  ).filter((character) => /[^\s\p{C}]/u.test(character) && findUnsupported(character).length === 0)
  const followed = characters.flatMap((character) => [`${character}א`, `${character}a`])
  const inBrowser = await page.evaluate((texts) => {
    const elements = texts.map((text) => {
      const element = document.createElement('bdi')
      element.textContent = text
      return element
    })
    document.body.append(...elements)
    return elements.map((element) => getComputedStyle(element).direction)
  }, followed)
  const different = followed.filter(
    (text, index) => inBrowser[index] !== (isRightToLeft(text) ? 'rtl' : 'ltr'),
  )
  t.ok(characters.length > 40_000)
  t.same(different, [])
})

t.test('a right-to-left text is aligned to the left', async (t) => {
  const { page } = await openPage(t, browser, {
    origins: [],
    viewport: { width: 1600, height: 1200 },
  })
  const quote = withDocument({
    notes: 'פטיש',
    seller: { ...linkedQuote.document.seller, address: 'רחוב 12\nMadrid' },
  })
  await page.setContent(renderPage(quote, 'es', '?'))
  const starts = await page.evaluate(() => {
    const getLeft = (element: Element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return range.getBoundingClientRect().left
    }
    return ['.address bdi', '.notes h2, .notes bdi'].map((selector) =>
      [...document.querySelectorAll(selector)].map(getLeft),
    )
  })
  for (const [first, second] of starts) t.equal(first, second)
})
