// The errors of company.json name the field, what is expected and an example. The page that
// describes the fields is complete.
// Numbers such as S49 are those of the attacks in docs/security.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { defaultBrand } from '../../src/company/brand.ts'
import { CompanyFile, readCompany } from '../../src/company/company-file.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const example = JSON.parse(readFileSync(join(root, 'company.example.json'), 'utf8'))
const directory = createTemporaryDirectory(t, 'company')

function readProblems(changes: object): string[] {
  const file = join(directory, 'company.json')
  writeFileSync(file, JSON.stringify({ ...example, ...changes }))
  try {
    readCompany(file)
    return []
  } catch (error) {
    return error instanceof Error ? error.message.split('\n  ').slice(1) : [String(error)]
  }
}

const png = (width: number, height = 10) => {
  const bytes = Buffer.alloc(40)
  bytes.write('89504e470d0a1a0a0000000d49484452', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}
const namespace = 'xmlns="http://www.w3.org/2000/svg"'
const svg = (content: string) => {
  const drawing = Buffer.from(`<svg ${namespace} viewBox="0 0 9 9">${content}</svg>`)
  return `data:image/svg+xml;base64,${drawing.toString('base64')}`
}

t.test('each error names the field, what is expected, and an example', async (t) => {
  const { bic: _, ...bankWithoutBic } = example.bank
  const cases: [changes: object, problem: string | RegExp][] = [
    [
      { website: 'example.com' },
      '/website: "example.com" is not valid. Expected: an address of at most 200 characters ' +
        'that begins with https:// or http://, or null, for example "https://example.com"',
    ],
    [
      { bank: bankWithoutBic },
      '/bank/bic: is missing. Expected: 8 or 11 capital letters and digits, or null, ' +
        'for example "CAIXESBBXXX"',
    ],
    [{ website: 'javascript:alert(1)' }, /^\/website: .* is not valid/],
    [{ baseCurrency: 'XBT' }, '/baseCurrency: XBT is not an ISO 4217 currency such as EUR'],
    [{ timeZone: 'Europe/Springfield' }, /^\/timeZone: .* is not an IANA time zone/],
    [{ bank: 'ES91' }, /^\/bank: "ES91" is not valid\. Expected: an object with holder, iban and/],
    [
      { bank: { ...example.bank, holder: '' } },
      /^\/bank\/holder: "" is not valid\. Expected: text/,
    ],
    [{ bank: { ...example.bank, iban: 'ES00' } }, /^\/bank\/iban: the check digits are wrong/],
    [{ legalName: undefined }, /^\/legalName: is missing\. Expected: text of 1 to 200 characters/],
    [
      { country: 'Spain' },
      '/country: "Spain" is not valid. Expected: ISO 3166-1 alpha-2, for example "ES"',
    ],
    [{ country: 'XX' }, '/country: XX is not an assigned ISO 3166-1 country code such as ES'],
    [
      { language: 'xx' },
      '/language: "xx" is not valid. Expected: "es" or "en" or "pt" or "fr" or "it" or "de", ' +
        'for example "es"',
    ],
    [
      { legal: [{ ...example.legal[0], appliesTo: 'some' }] },
      /^\/legal\/0\/appliesTo: "some" is not valid\. Expected: "all" or "export" or "intraComm/,
    ],
    [
      { baseCurrency: 'EUROS' },
      /^\/baseCurrency: "EUROS" is not valid\. Expected: ISO 4217, .* "EUR"/,
    ],
    [
      { webiste: null },
      '/webiste: is not a field of a company file. docs/importing.md lists the fields',
    ],
    [{ accentColor: 'red' }, /^\/accentColor: "red" is not valid\. Expected: a colour as #rrggbb/],
    [
      { accentColor: '#ffcc00' },
      /^\/accentColor: #ffcc00 has a contrast of 1\.\d with .* A darker one: #[0-9a-f]{6}$/,
    ],
    [{ logo: 'none.svg' }, /^\/logo: .*none\.svg cannot be read: ENOENT/],
    [
      { logo: 'data:text/html;base64,QQ==' },
      '/logo: is not a data URI of an SVG or a PNG in base64',
    ],
    [
      { logo: svg(`<path d="${'M0 0'.repeat(30_000)}"/>`) },
      /^\/logo: has 1\d{5} bytes: at most 100000/,
    ],
    [{ logo: png(2_001) }, '/logo: has 2001 × 10 pixels: at most 2000 on each side are allowed'],
    [{ logo: svg('<script>alert(1)</script>') }, '/logo: contains a script, which is not allowed'],
    [{ logo: svg('<g onload="x()"/>') }, /^\/logo: contains an event handler/],
    [{ logo: svg('<a href="https://example.com"/>') }, /^\/logo: contains a link to another file/],
    [{ logo: svg('<image xlink:href="file:///etc/passwd"/>') }, /contains a link to another file/],
    [{ logo: svg('<foreignObject/>') }, /^\/logo: contains foreign content/],
    [{ logo: svg('<style>@import "x"</style>') }, /^\/logo: contains a style from another file/],
    [{ logo: svg('<g fill="url(https://x)"/>') }, /^\/logo: contains a style from another file/],
    [{ logo: svg('<g>') }, /^\/logo: is not well-formed at line 1:\d+: unexpected close tag/],
    [{ logo: svg('<g fill=red/>') }, /^\/logo: is not well-formed at line 1:\d+: unquoted/],
    [{ logo: svg('<p:g/>') }, /^\/logo: is not well-formed at line 1:\d+: unbound namespace/],
    [{ logo: svg('&nbsp;') }, /^\/logo: is not well-formed at line 1:\d+: undefined entity/],
    [
      { logo: `data:image/svg+xml;base64,${Buffer.from('<svg><g/></svg>').toString('base64')}` },
      /^\/logo: lacks xmlns="http:\/\/www\.w3\.org\/2000\/svg" in its svg element/,
    ],
  ]
  for (const [changes, problem] of cases) {
    const problems = readProblems(changes)
    t.equal(problems.length, 1, JSON.stringify(changes).slice(0, 80))
    t.match(problems[0], problem)
  }
})

t.test('a logo that hides a script, a link or a style is rejected (S49)', async (t) => {
  const outer = 'https://evil.example/x'
  for (const [content, problem] of [
    [`<s:script xmlns:s="http://www.w3.org/2000/svg">1</s:script>`, 'a script'],
    [`<script xmlns="http://www.w3.org/1999/xhtml">1</script>`, 'a script'],
    ['<g><![CDATA[x]]><ScRiPt/></g>', 'a script'],
    ['<g\nonload="x()"/>', 'an event handler'],
    ['<a href="#&#10;"/><a xlink:href="java&#9;script:x()" xmlns:xlink="x"/>', 'a javascript:'],
    ['<image href="&#104;ttps://evil.example/x.png"/>', 'a link to another file'],
    ['<use href="//evil.example/x.svg#a"/>', 'a link to another file'],
    ['<image href="data:image/svg+xml;base64,AAAA"/>', 'a link to another file'],
    [`<image><set attributeName="href" to="${outer}"/></image>`, 'an animation'],
    [`<image><animate attributeName="href" values="${outer}"/></image>`, 'an animation'],
    [`<g style="fill:u\\72l(${outer})"/>`, 'a style from another file'],
    [`<g fill="u\\000072 l(${outer})"/>`, 'a style from another file'],
    [`<style>@\\69mport '${outer}';</style>`, 'a style from another file'],
    [`<style><![CDATA[@import '${outer}';]]></style>`, 'a style from another file'],
    [`<style>g{fill:image-set("${outer}" 1x)}</style>`, 'a style from another file'],
    [`<style>@im<!-- -->port '${outer}';</style>`, 'a style from another file'],
    [`<style>@im<![CDATA[port '${outer}';]]></style>`, 'a style from another file'],
    [`<style>@\\69&#13;&#10;mport '${outer}';</style>`, 'a style from another file'],
    [`<style>@im<g/>port '${outer}';</style>`, 'an element in a style'],
    [`<?xml-stylesheet href="${outer}"?>`, 'a style from another file'],
    ['<g>'.repeat(100) + '</g>'.repeat(100), 'elements in more than 100 others'],
  ] as const)
    t.match(readProblems({ logo: svg(content) }).join(), problem, content)
  for (const content of [
    '<!-- <script> onload="x" -->',
    '<title>A script, url(x) and @import</title>',
    '<g xmlns:i="urn:inkscape" i:export-filename="C:\\urls\\logo.png"/>',
    '<style>.a{fill:url(#b)} .c{font-family:"A\\20 B"}</style>',
    `<image href="data:image/png;base64,AAAA"/>`,
  ])
    t.same(readProblems({ logo: svg(content) }), [], content)
})

t.test('the suggested darker colour is accepted', async (t) => {
  for (const color of ['#ffcc00', '#00ff00', '#FF69B4', '#ffffff']) {
    const suggestion = readProblems({ accentColor: color })[0]?.slice(-7)
    t.same(readProblems({ accentColor: suggestion }), [], `${color}: ${suggestion}`)
  }
})

t.test('accepts a logo in a file or in the company file, and an accent colour', async (t) => {
  const drawing = `<svg ${namespace}><use href="#a"/><g id="a" fill="url(#b)"/></svg>`
  writeFileSync(join(directory, 'logo.svg'), `<?xml version="1.0"?>\n<!-- A -->\n${drawing}`)
  for (const logo of ['logo.svg', png(2_000, 2_000), svg('<g/>'), null])
    t.same(readProblems({ logo }), [], String(logo).slice(0, 40))
  readProblems({ logo: 'logo.svg', accentColor: '#7A1FA2' })
  const { brand, seller } = readCompany(join(directory, 'company.json'))
  t.match(brand, { logo: { type: 'svg' }, accent: { light: '#7a1fa2', onLight: '#ffffff' } })
  t.notOk('logo' in seller, 'the logo is not part of what a link freezes')
  readProblems({})
  t.same(readCompany(join(directory, 'company.json')).brand, defaultBrand)
})

t.test('accepts a byte order mark, and rejects any encoding but UTF-8', async (t) => {
  const file = join(directory, 'company.json')
  const text = JSON.stringify({ ...example, legalName: 'Ferretería, S.L.' })
  writeFileSync(file, `\ufeff${text}`)
  t.equal(readCompany(file).seller.legalName, 'Ferretería, S.L.')
  writeFileSync(file, text, 'latin1')
  t.throws(() => readCompany(file), { message: /company\.json cannot be read .*save it as UTF-8/ })
})

t.test('docs/importing.md describes exactly the fields of the schema', async (t) => {
  const page = readFileSync(join(root, 'docs/importing.md'), 'utf8')
  const described = [...page.matchAll(/^\| `([\w.[\]]+)` \|/gm)].map(([, name]) => name)
  t.same(described.sort(), listFields(CompanyFile).sort())
})

function listFields(schema: TSchema, prefix = ''): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(
    ([name, property]) => {
      const variants = [property, ...((property.anyOf ?? []) as TSchema[])]
      const object = variants.find(({ type }) => type === 'object')
      const list = variants.find(({ type }) => type === 'array')
      return [
        prefix + name,
        ...(object ? listFields(object, `${prefix}${name}.`) : []),
        ...(list ? listFields(list.items as TSchema, `${prefix}${name}[].`) : []),
      ]
    },
  )
}
