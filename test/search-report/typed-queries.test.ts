// What counts as a query of one caller, and which texts are never counted.
import t from 'tap'
import { listReportableWords, toKeptText } from '../../src/search-report/kept-texts.ts'
import { TypedQueries } from '../../src/search-report/typed-queries.ts'

for (const [claim, typed, expected] of [
  [
    'only the last of a run of keystrokes counts',
    { a: ['t', 'ta', 'tal', 'tald', 'tal', 'talad', 'taladr', 'taladro'] },
    ['a: taladro'],
  ],
  [
    'several people who search with one key do not disturb each other',
    { key: ['g', 't', 'gr', 'ta', 'gri', 'tal', 'grif', 'tala', 'grifo', 'talad'], b: ['grif'] },
    ['b: grif', 'key: grifo', 'key: talad'],
  ],
  ['a corrected typo is one query', { a: ['martlilo', 'martillo'] }, ['a: martillo']],
  ['a long text is pasted', { a: ['x'.repeat(61)] }, []],
] as const)
  t.test(claim, async (t) => {
    const queries = new TypedQueries()
    for (const [caller, texts] of Object.entries(typed))
      for (const text of texts) queries.record({ caller, text, hasHits: true })
    t.same(queries.takeSettled(), [])
    const settled = queries.takeSettled().map(({ caller, text }) => `${caller}: ${text}`)
    t.same(settled.sort(), expected)
    t.same(queries.takeAll(), [], 'once')
  })

t.test('a query counts after its caller has stayed on it', async (t) => {
  const queries = new TypedQueries()
  const percutor = { caller: 'a', text: 'taladro percutor', hasHits: false }
  queries.record({ caller: 'a', text: 'taladro', hasHits: true })
  t.same(queries.takeSettled(), [])
  queries.record(percutor)
  t.same(queries.takeSettled(), [])
  t.same(queries.takeSettled(), [percutor])
})

t.test('memory is bounded, whatever callers send', async (t) => {
  const queries = new TypedQueries()
  const record = (caller: string, text: string) => queries.record({ caller, text, hasHits: true })
  for (let n = 0; n < 10_000; n++) record('one', `${n * 7919} text`)
  for (let n = 0; n < 10_000; n++) record(`caller ${n}`, 'text')
  t.equal(queries.takeAll().length, 8 + 1_999)
})

t.test('texts that look like personal data or secrets are never kept', async (t) => {
  for (const [text, kept] of [
    ['ana@example.com', null],
    ['Ana Ruiz <ana＠example.com>', null],
    ['948 12 34 56', null],
    ['+34 600-123-456', null],
    ['(0044) 20.7946.0958', null],
    ['٠٦٠٠١٢٣٤٥٦', null],
    ['ES91 2100 0418 4502 0005 1332', null],
    ['GB29NWBK60161331926819', null],
    ['MT84MALT011000012345MTLCAST001S', null],
    ['12345678Z', null],
    ['X-1234567-L', null],
    ['B 12345678', null],
    ['4111 1111 1111 1111', null],
    ['12/03/1980', null],
    ['https://quotes.example/a', null],
    ['www.example.com', null],
    ['tqs_abcdefghijkl_0123456789abcdefghijklmnop', null],
    ['k9LmVbPqRsTuWxYzAbCdEfGhJkMnPqRs', null],
    [' \u0007', null],
    ['Taladro  PERCUTOR 18 V', 'taladro percutor 18 v'],
    ['Cañón', 'cañon'],
    ['2x4x8', '2x4x8'],
    ['AB-742-X', 'ab-742-x'],
    ['8205.20', '8205.20'],
    ['日本', '日本'],
  ] as const)
    t.equal(toKeptText(text), kept, text)
  t.same(
    listReportableWords('tubo de cobre ab-742 18v tubo m2 x'),
    ['tubo', 'cobre'],
    'words of a report are words, not parts of codes',
  )
})
