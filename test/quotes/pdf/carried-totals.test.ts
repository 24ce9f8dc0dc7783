// The totals of a PDF stay with the last line, and pages carry the running total to the next one.
// Slow: it renders a PDF for each number of lines.
import t, { type Test } from 'tap'
import { languages, textsByLanguage } from '../../../src/texts/languages.ts'
import { eur, hammer, withDocument } from '../../support/quotes/linked-quote.ts'
import { removeSpace, renderPdfPages } from '../../support/quotes/read-pdf.ts'

const rates = ['21', '10', '4', '0']

/** Returns the texts of the pages of a quote whose line N costs N euros. */
async function renderPages(
  lineCount: number,
  { heightInLines, rateCount }: { heightInLines: number; rateCount: number },
  language: (typeof languages)[number] = 'es',
): Promise<string[]> {
  const lines = Array.from({ length: lineCount }, (_, index) => ({
    ...hammer,
    position: index + 1,
    sku: null,
    hsCode: null,
    originCountry: null,
    surchargeRate: null,
    description: Array.from({ length: heightInLines }, () => `Pieza${index + 1};`).join('\n'),
    net: eur(`${index + 1}.00`),
  }))
  const taxes = rates.slice(0, rateCount).map((rate) => ({
    rate,
    surchargeRate: null,
    base: eur('1.00'),
    amount: eur('1.00'),
    surchargeAmount: null,
  }))
  const totals = { net: eur('1.00'), discounts: eur('0.00'), taxes, gross: eur('98765.43') }
  const pages = await renderPdfPages(withDocument({ lines, totals, language }), language)
  return pages.map(removeSpace)
}

/** The sum of the first `count` lines. */
const sumOf = (count: number) => (count * (count + 1)) / 2
const formatSum = (count: number) => `${String(sumOf(count)).replace(/\B(?=(\d{3})+$)/g, '.')},00€`

function checkPages(t: Test, pages: string[], lineCount: number, name: string): void {
  const { carriedForward, broughtForward, totals } = textsByLanguage.es.quotes
  const foot = carriedForward.replaceAll(' ', '')
  const head = broughtForward.replaceAll(' ', '')
  const lastOn = pages.map((page) =>
    Math.max(0, ...[...page.matchAll(/Pieza(\d+);/g)].map(([, number]) => Number(number))),
  )
  const totalsPage = pages.findIndex((page) => page.includes(totals))
  t.equal(lastOn[totalsPage], lineCount, `${name}: the totals are with the last line`)
  t.match(pages[totalsPage], /Descripción.*Totales.*98\.765,43€/, `${name}: and not divided`)
  pages.forEach((page, index) => {
    const isCarried = index < totalsPage
    const sum = formatSum(lastOn[index] ?? 0)
    t.equal(page.includes(`${foot}${sum}`), isCarried, `${name}: the foot of page ${index + 1}`)
    t.equal(page.includes(foot), isCarried)
    const isBrought = index > 0 && index <= totalsPage
    const before = formatSum(lastOn[index - 1] ?? 0)
    t.equal(page.includes(`${head}${before}`), isBrought, `${name}: head of page ${index + 1}`)
    t.equal(page.includes(head), isBrought)
  })
}

// One page has 30 lines with few totals, and five of the highest: further lines repeat the cases.
const layouts = [
  { heightInLines: 1, rateCount: 4, from: 1, to: 60 },
  { heightInLines: 3, rateCount: 2, from: 1, to: 60 },
  { heightInLines: 1, rateCount: 1, from: 25, to: 45 },
  { heightInLines: 11, rateCount: 4, from: 1, to: 15 },
]

for (const { from, to, ...layout } of layouts)
  t.test(`${from} to ${to} lines: ${JSON.stringify(layout)}`, async (t) => {
    for (let lineCount = from; lineCount <= to; lineCount += 1)
      checkPages(t, await renderPages(lineCount, layout), lineCount, `${lineCount} lines`)
  })

t.test('each language carries the total', async (t) => {
  for (const language of languages) {
    const pages = await renderPages(40, { heightInLines: 1, rateCount: 4 }, language)
    const { carriedForward, broughtForward } = textsByLanguage[language].quotes
    t.ok(pages[0]?.includes(carriedForward.replaceAll(' ', '')), language)
    t.ok(pages[1]?.includes(broughtForward.replaceAll(' ', '')), language)
  }
})

t.test('a last line or totals that may not fit on a page are divided', async (t) => {
  const pages = await renderPages(2, { heightInLines: 150, rateCount: 4 })
  t.equal(pages.join('').match(/Pieza2;/g)?.length, 150)
  t.match(pages.join(''), /Totales.*98\.765,43€/)
})
