// The logo and the accent colour of the company on the page and in the PDF.
import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { extractImages, getDocumentProxy } from 'unpdf'
import { readBrand } from '../../src/company/brand.ts'
import { createShareLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/add-quote.ts'
import { testService } from '../support/test-service.ts'

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">' +
  '<rect width="40" height="20" fill="#ff0000"/></svg>'
const svgUri = `data:image/svg+xml;base64,${Buffer.from(drawing).toString('base64')}`
const pngUri = `data:image/png;base64,${createPng(40, 20).toString('base64')}`

async function startService(t: Test, logo: string) {
  const { brand, problems } = readBrand({ logo, accentColor: '#7a1fa2' }, 'company.json')
  t.same(problems, [])
  const service = await testService(t, { brand, index: false })
  await addQuote(service.db, 'P-1')
  return { service, url: `/quote/share/${await createShareLink(service.db, { number: 'P-1' })}` }
}

t.test('the page shows the logo and the colour, and its policy allows just that', async (t) => {
  const { service, url } = await startService(t, svgUri)
  const { body, headers } = await service.app.inject(url)
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

t.test(
  'the page of a company without a brand has its initials and the default policy',
  async (t) => {
    const service = await testService(t, { index: false })
    await addQuote(service.db, 'P-1')
    const url = `/quote/share/${await createShareLink(service.db, { number: 'P-1' })}`
    const { body, headers } = await service.app.inject(url)
    t.match(body, /class="monogram"/)
    t.notMatch(body, /<img/)
    t.match(
      String(headers['content-security-policy']),
      /; style-src 'sha256-\S+'; .*; img-src data:$/,
    )
  },
)

t.test('the PDF shows the logo, SVG or PNG', async (t) => {
  for (const logo of [svgUri, pngUri]) {
    const { service, url } = await startService(t, logo)
    const { statusCode, rawPayload } = await service.app.inject(`${url}?format=pdf`)
    t.equal(statusCode, 200)
    const proxy = await getDocumentProxy(new Uint8Array(rawPayload))
    const operators = await (await proxy.getPage(1)).getOperatorList()
    const colours = operators.argsArray.flat().filter((value) => typeof value === 'string')
    t.ok(colours.includes('#7a1fa2'), 'the accent colour is used')
    if (logo === svgUri) t.ok(colours.includes('#ff0000'), 'the drawing is in the PDF')
    else t.match(await extractImages(proxy, 1), [{ width: 40, height: 20 }])
  }
})

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
