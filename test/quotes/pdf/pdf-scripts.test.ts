// Every script is right in the PDF or refused: the text of the PDF is the text of the page, over
// awkward texts, and a PDF with characters that it cannot show is a page that says so.
// Numbers such as S47 are those of the attacks in docs/security.md.
import t from 'tap'
import { defaultBrand } from '../../../src/company/brand.ts'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import {
  findUnprintableInDocument,
  findUnsupportedCharacters,
  prepareText,
} from '../../../src/quotes/pdf/pdf-text.ts'
import { compilePdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import {
  fillQuote,
  getVisibleText,
  removeScreenOnly,
  withDocument,
} from '../../support/quotes/linked-quote.ts'
import { renderPdfPages } from '../../support/quotes/read-pdf.ts'
import { renderPage } from '../../support/quotes/render-page.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

/**
 * Returns the words of a text. The extractor returns right-to-left lines in visual order, so words
 * are compared and not lines. NFKC also composes accents and separates ligatures.
 */
function listWords(text: string): string[] {
  return normalize(text)
    .split(/[\s()[\]:.,;]+/)
    .filter((word) => word !== '')
}

/** Removes format characters and variation selectors, which cannot be seen. */
function normalize(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}|\p{Variation_Selector}/gu, '')
}

function sortCharacters(text: string): string {
  return [...text.replace(/\s+/g, '')].sort().join('')
}

const extractPdfText = async (quote: LinkedQuote) => (await renderPdfPages(quote)).join('\n')

const printable = {
  emoji: 'Portes incluidos ✅ ❌ ❗ ⭐ 👍 📦 🚚 🔧 ❤️',
  Korean: '망치 둥근 머리 뷁 똠 쀍 텍스트 가나다라',
  Chinese: '锤子 圆头锤 鐵鎚',
  Japanese: 'ハンマー がぎぐ パピプ 玄翁',
  Hebrew: 'פטיש כדור 300 גרם (כולל מע״מ) 12.50 ₪',
  Arabic: 'مطرقة كروية 300 غرام السلام إلى',
  'Arabic ligatures': 'لأن إلا خلال آلات الآلات فلا كلا',
  Persian: 'چکش گرد ژاله کالا',
  Russian: 'Молоток слесарный ёлка',
  Greek: 'Σφυρί με στρογγυλή κεφαλή',
  Vietnamese: 'Cái búa đầu tròn được',
  Polish: 'Łódź ąęż młotek',
  Turkish: 'İstanbul ığüşçö çekiç',
  'composed from marks': 'n\u0303andu\u0301 cafe\u0301 A\u030angstro\u0308m',
  ligatures: 'office fluff ﬁn ﬂoor',
  symbols: '½ ² ³ € ₿ ™ ® → ✓ ☎️ ≤ Ω μ ∅ № ‰ § ¿ ¡',
  mixed: 'Hammer مطرقة 12 פטיש 망치 锤子 Ñandú',
  'no spaces': 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
}

for (const [name, text] of Object.entries(printable))
  t.test(`the PDF contains the text of the page: ${name} (S47)`, async (t) => {
    const quote = fillQuote(text, 'https://example.com/')
    // One line of each kind: a table on two pages would repeat its headings and its sums.
    const { lines } = quote.document
    quote.document.lines = [...new Map(lines.map((line) => [line.kind, line])).values()]
    const html = renderPage(quote, 'es', '?')
    // Only the screen has the disclosure, which repeats the hash.
    const page = normalize(getVisibleText(html.replace(/<details.*?<\/details>/s, '')))
    const printed = normalize(getVisibleText(removeScreenOnly(html)))
    // Lines break at other places, also within words of languages without spaces.
    const pdf = normalize(await extractPdfText(quote)).replace(/\s+/g, '')
    for (const word of listWords(text)) {
      const count = pdf.split(word).length
      t.ok(count >= page.split(word).length, `${word}: ${count - 1} times`)
    }
    // Each character is there as often as on the printed page, and in the foot of each page.
    const body = pdf.replaceAll(/Página\dde\d/g, '')
    const pages = pdf.match(/Página\dde\d/g)?.length ?? 0
    const foot = `Presupuesto${text}`.repeat(pages)
    const head = `${text}Presupuesto${text}`.repeat(pages - 1)
    const expected = sortCharacters(normalize(printed + foot + head))
    t.equal(sortCharacters(body), expected, 'no character is lost, added or replaced')
  })

const refused = {
  Thai: 'ค้อนหัวกลม น้ำหนัก',
  Devanagari: 'हथौड़ा क्षत्रिय विद्यार्थी',
  'one Thai word': 'Martillo de bola, en tailandés ค้อน, 300 g',
  Tamil: 'சுத்தியல்',
  Amharic: 'መዶሻ',
  'Hebrew with points': 'שָׁלוֹם',
  'Arabic with marks': 'محمّد',
  'stacked accents': 'Q\u0303 а\u0301',
  emoji: '👩‍👩‍👧',
  'private use': '\ue123',
  'a flag': '🇪🇸',
  'a skin colour': '👍🏽',
}

for (const [name, text] of Object.entries(refused))
  t.test(
    `a PDF with characters that it cannot show correctly is refused: ${name} (S47)`,
    async (t) => {
      t.throws(() => compilePdf(withDocument({ notes: text }), 'es', defaultBrand), {
        message: /do not support U\+/,
      })
    },
  )

t.test('a page offers a PDF exactly if the PDF can show each character', async (t) => {
  const offers = (notes: string) =>
    findUnprintableInDocument(JSON.stringify({ notes })).length === 0
  for (const [name, text] of Object.entries(refused)) t.notOk(offers(text), name)
  for (const [name, text] of Object.entries(printable)) t.ok(offers(text), name)
  const wrong: string[] = []
  for (let code = 0; code < 0xd800; code += 1) {
    const character = String.fromCharCode(code)
    const prepared = prepareText(character)
    const isShown = findUnsupportedCharacters(prepared).length === 0
    if (offers(character) !== isShown) wrong.push(`U+${code.toString(16)}`)
  }
  t.same(wrong, [])
  const translated = { notes: 'Martillo', legalTranslations: { th: 'ค้อน' } }
  t.same(findUnprintableInDocument(JSON.stringify(translated)), [])
  t.same(
    findUnprintableInDocument('{"notes":"\\u0e04"}'),
    ['ค'],
    'an escape stands for its character',
  )
})

t.test('a refused PDF is a page that offers the page of the quote, or a problem', async (t) => {
  const { app, db } = await testService(t, { index: false })
  await addQuote(db, 'P-1', { notes: 'Martillo de bola, en tailandés ค้อนหัวกลม, 300 g' })
  const url = `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const page = await app.inject({ url: `${url}?format=pdf`, headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 406)
    t.match(page.body, /no tiene PDF.*imprímala.*href="\?format=html"/s)
    const english = await app.inject(`${url}?format=pdf&lang=en`)
    t.match(english.body, /This quotation has no PDF.*href="\?format=html&amp;lang=en"/s)
  }
  const problem = await app.inject({
    url: `${url}?format=pdf`,
    headers: { accept: 'application/json' },
  })
  t.match(problem.json(), { code: 'not_acceptable', detail: /Request text\/html/ })
  const { body } = await app.inject(url)
  t.match(body, 'ค้อนหัวกลม')
  t.notMatch(body, /format=pdf/, 'the page offers no PDF that would be refused')
  await addQuote(db, 'P-2', { notes: 'Martillo פטיש 锤子' })
  const other = await app.inject(
    `/quote/share/${await createQuoteLink(db, { number: 'P-2' })}?lang=fr`,
  )
  t.match(other.body, 'href="?format=pdf&amp;lang=fr"')
})
