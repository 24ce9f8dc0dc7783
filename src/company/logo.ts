// Reads the logo of the company: an SVG without scripts, or a PNG.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes'

/** `data` is base64. */
export type Logo = { type: 'svg' | 'png'; data: string }

export const maxLogoBytes = 100_000
/** A small PNG may unpack to an image that needs much memory. */
const maxPngPixels = 2_000

const pngSignature = '89504e470d0a1a0a'
const dataUri = /^data:image\/(svg\+xml|png);base64,([A-Za-z0-9+/=\s]+)$/

/**
 * Returns the logo, which is a data URI or the name of a file beside the company file. Returns the
 * problem instead if it cannot be read or is not allowed.
 */
export function readLogo(text: string, companyFile: string): Logo | { problem: string } {
  const bytes = readBytes(text, companyFile)
  if (!Buffer.isBuffer(bytes)) return bytes
  if (bytes.length > maxLogoBytes)
    return { problem: `has ${bytes.length} bytes: at most ${maxLogoBytes} are allowed` }
  const isPng = bytes.toString('hex', 0, 8) === pngSignature
  const problem = isPng ? findPngProblem(bytes) : findSvgProblem(bytes.toString())
  return problem ? { problem } : { type: isPng ? 'png' : 'svg', data: bytes.toString('base64') }
}

function readBytes(text: string, companyFile: string): Buffer | { problem: string } {
  if (text.startsWith('data:')) {
    const [, , base64] = dataUri.exec(text) ?? []
    return base64 === undefined
      ? { problem: 'is not a data URI of an SVG or a PNG in base64' }
      : Buffer.from(base64, 'base64')
  }
  const file = resolve(dirname(companyFile), text)
  try {
    return readFileSync(file)
  } catch (error) {
    return { problem: `${file} cannot be read: ${error instanceof Error ? error.message : error}` }
  }
}

function findPngProblem(bytes: Buffer): string | undefined {
  const isComplete = bytes.length > 24 && bytes.toString('latin1', 12, 16) === 'IHDR'
  if (!isComplete) return 'is not a complete PNG'
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  return Math.max(width, height) > maxPngPixels
    ? `has ${width} × ${height} pixels: at most ${maxPngPixels} on each side are allowed`
    : undefined
}

const svgNamespace = 'http://www.w3.org/2000/svg'
const maxSvgDepth = 100

/**
 * Elements that an SVG must not have, in any namespace: it is an image, and neither runs code nor
 * loads anything.
 */
const forbiddenElements: [name: RegExp, what: string][] = [
  [/^script$/i, 'a script'],
  [/^(foreignObject|iframe|embed|object|audio|video)$/i, 'foreign content'],
  [/^(set|animate.*)$/i, 'an animation'],
]

const outerStyle = 'a style from another file'

/**
 * Returns a problem of an SVG: forbidden content first, then others. A parser finds what prefixes
 * and entities would hide.
 */
function findSvgProblem(text: string): string | undefined {
  const content = text.replace(/^\ufeff?\s*(?:<\?xml[^>]*\?>)?(?:\s|<!--[\s\S]*?-->)*/, '')
  if (/^<!DOCTYPE/i.test(content)) return notAllowed('a DOCTYPE or an entity')
  if (!/^(<svg[\s>]|<\?)/.test(content)) return 'is neither an SVG nor a PNG'
  const otherProblems: string[] = []
  const forbidden: string[] = []
  const report = (what: string | undefined) => what && forbidden.push(notAllowed(what))
  const parser = new SaxesParser({ xmlns: true })
  const open: { tag: SaxesTagNS; text: string }[] = []
  const addText = (text: string) => {
    const element = open.at(-1)
    if (element) element.text += text
  }
  parser.on('error', ({ message }) => otherProblems.push(`is not well-formed at line ${message}`))
  parser.on('doctype', () => report('a DOCTYPE or an entity'))
  parser.on('processinginstruction', () => report(outerStyle))
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentag', (tag) => {
    // Browsers show no image at all that is not in the namespace of SVG.
    if (open.length === 0 && tag.uri !== svgNamespace) otherProblems.push(lacksNamespace)
    if (isStyle(open.at(-1)?.tag)) report('an element in a style')
    if (open.push({ tag, text: '' }) > maxSvgDepth)
      otherProblems.push(`has elements in more than ${maxSvgDepth} others`)
    report(forbiddenElements.find(([name]) => name.test(tag.local))?.[1])
    for (const attribute of Object.values(tag.attributes)) report(findForbiddenValue(attribute))
  })
  parser.on('closetag', () => {
    const closed = open.pop()
    // Checked as a whole, because browsers join what comments and CDATA sections divide.
    if (isStyle(closed?.tag)) report(findOuterStyle(closed?.text ?? ''))
  })
  parser.write(text).close()
  return forbidden[0] ?? otherProblems[0]
}

const isStyle = (tag: SaxesTagNS | undefined) => tag?.local.toLowerCase() === 'style'
const notAllowed = (what: string) => `contains ${what}, which is not allowed`
const lacksNamespace = `lacks xmlns="${svgNamespace}" in its svg element: browsers show nothing`

/** Returns what an attribute must not be. Its value has no entities any more. */
function findForbiddenValue({ local, prefix, value }: SaxesAttributeNS): string | undefined {
  if (prefix === '' && /^on/i.test(local)) return 'an event handler such as onload'
  // Browsers ignore such characters in an address.
  if (/javascript:/i.test(value.replace(/[\s\p{Cc}]/gu, ''))) return 'a javascript: address'
  const isLink = /^(href|src)$/i.test(local) && value.trim() !== ''
  if (isLink && !/^\s*(#|data:image\/(png|jpeg);)/i.test(value)) return 'a link to another file'
  return prefix === '' ? findOuterStyle(value) : undefined
}

function findOuterStyle(css: string): string | undefined {
  const text = css.replace(/\\(?:([0-9a-f]{1,6})(?:\r\n|\s)?|(.))/gi, (_, code, character) =>
    code ? String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff)) : character,
  )
  const isOuter = /@import|image-set\(|url\(\s*["']?\s*(?!["']?#)[^"'\s]/i.test(text)
  return isOuter ? outerStyle : undefined
}
