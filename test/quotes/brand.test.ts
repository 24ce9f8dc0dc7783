// The logo and the accent colour of the company on the page and in the PDF.
// Numbers such as S49 are those of the attacks in docs/security.md.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { extractImages, getDocumentProxy } from 'unpdf'
import { readBrand } from '../../src/company/brand.ts'
import { checkLogoInPdf } from '../../src/quotes/pdf/check-logo.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { startServiceWithLink } from '../support/service/service-with-link.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

waitLongForRenderings(t)

const root = join(import.meta.dirname, '../..')
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">' +
  '<rect width="40" height="20" fill="#ff0000"/></svg>'
const svgUri = `data:image/svg+xml;base64,${Buffer.from(drawing).toString('base64')}`
const pngUri = `data:image/png;base64,${createPng(40, 20).toString('base64')}`

async function startService(t: Test, logo: string) {
  const { brand, problems } = readBrand({ logo, accentColor: '#7a1fa2' }, 'company.json')
  t.same(problems, [])
  return startServiceWithLink(t, { brand })
}

t.test('the page shows the logo and the colour, and its policy allows just that', async (t) => {
  const { app, url } = await startService(t, svgUri)
  const { body, headers } = await app.inject(url)
  t.ok(body.includes(`src="${svgUri}"`))
  t.notMatch(body, /class="monogram"/)
  const policy = String(headers['content-security-policy'])
  t.match(policy, /; img-src data:$/)
  const styles = [...body.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, css = '']) => css)
  t.equal(styles.length, 2)
  t.match(styles[1], /--accent:#7a1fa2;--on-accent:#ffffff.*prefers-color-scheme:dark.*--accent:#/)
  for (const css of styles)
    t.ok(policy.includes(`'sha256-${createHash('sha256').update(css).digest('base64')}'`))
  t.notMatch(policy, /unsafe|script-src/)
})

t.test('the PDF shows the logo, SVG or PNG', async (t) => {
  for (const logo of [svgUri, pngUri]) {
    const { app, url } = await startService(t, logo)
    const { statusCode, rawPayload } = await app.inject(`${url}?format=pdf`)
    t.equal(statusCode, 200)
    const proxy = await getDocumentProxy(new Uint8Array(rawPayload))
    const operators = await (await proxy.getPage(1)).getOperatorList()
    const colours = operators.argsArray.flat().filter((value) => typeof value === 'string')
    t.ok(colours.includes('#7a1fa2'), 'the accent colour is used')
    if (logo === svgUri) t.ok(colours.includes('#ff0000'), 'the drawing is in the PDF')
    else t.match(await extractImages(proxy, 1), [{ width: 40, height: 20 }])
  }
})

/** Returns an SVG that shows a line ten to the power of `levels` times. */
const createNestedCopies = (levels: number) => {
  const groups = Array.from(
    { length: levels },
    (_, n) => `<g id="g${n + 1}">${`<use href="#g${n}"/>`.repeat(10)}</g>`,
  )
  const line = '<g id="g0"><path d="M0 0h9"/></g>'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${line}${groups.join('')}</svg>`
}

const toUri = (type: string, bytes: string | Buffer) =>
  `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`
const unusableLogos: [name: string, uri: string, reason: RegExp][] = [
  ['a PNG that ends early', toUri('png', createPng(40, 20).subarray(0, 50)), /decode image/],
  [
    'a negative width',
    toUri('svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="-5" height="9"/>'),
    /parse SVG/,
  ],
  ['a billion copies', toUri('svg+xml', createNestedCopies(9)), /parse SVG|process ended/],
  [
    'a filter that needs too much memory',
    toUri(
      'svg+xml',
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100"><filter id="f" x="-1000" ' +
        'y="-1000" width="9999" height="9999"><feGaussianBlur stdDeviation="9999"/></filter>' +
        '<rect width="300" height="100" filter="url(#f)"/></svg>',
    ),
    /process ended/,
  ],
]

t.test('a logo that no PDF can show is found before customers need one (S49)', async (t) => {
  for (const [name, logo, reason] of unusableLogos) {
    const { brand, problems } = readBrand({ logo }, 'company.json')
    t.same(problems, [], name)
    await t.rejects(checkLogoInPdf(brand), { message: /\/logo: no PDF can show it/ }, name)
    await t.rejects(checkLogoInPdf(brand), { message: reason }, name)
  }
  for (const logo of [svgUri, pngUri, null])
    await t.resolves(checkLogoInPdf(readBrand({ logo }, 'company.json').brand))
})

t.test('migrate rejects a company file with such a logo and changes nothing (S49)', async (t) => {
  const file = join(createTemporaryDirectory(t, 'logo'), 'company.json')
  const [[, logo] = []] = unusableLogos
  writeFileSync(file, JSON.stringify({ ...readExample(), logo }))
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/migrate.ts')], {
    encoding: 'utf8',
    env: { COMPANY_FILE: file, DATABASE_URL: 'postgres://nobody:x@127.0.0.1:9/none' },
  })
  t.equal(status, 1)
  t.match(stderr, /\/logo: no PDF can show it.*Save it as a simpler SVG, or as a PNG/)
  t.notMatch(stderr, 'ECONNREFUSED')
})

const readExample = () => JSON.parse(readFileSync(join(root, 'company.example.json'), 'utf8'))

/** Returns a PNG in one colour. */
function createPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(8, 8)
  header.writeUInt8(2, 9)
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width * 3, 0x80)])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    createChunk('IHDR', header),
    createChunk('IDAT', pixels),
    createChunk('IEND', Buffer.alloc(0)),
  ])
}

function createChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, checksum])
}
