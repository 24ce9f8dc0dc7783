// Reads the logo of the company: an SVG without scripts, or a PNG.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SaxesParser } from 'saxes'

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

/** What an SVG must not have: it is an image, and neither runs code nor loads anything. */
const forbiddenInSvg: [pattern: RegExp, name: string][] = [
  [/<\s*script/i, 'a script'],
  [/\son\w+\s*=/i, 'an event handler such as onload'],
  [/javascript\s*:/i, 'a javascript: address'],
  [/<\s*(?:\w+:)?(?:foreignObject|iframe|embed|object|audio|video)\b/i, 'foreign content'],
  [/<!(?:DOCTYPE|ENTITY)/i, 'a DOCTYPE or an entity'],
  [/href\s*=\s*["']?\s*(?!["']?(?:#|data:image\/(?:png|jpeg);))[^"'\s]/i, 'a link to another file'],
  [/@import|url\(\s*["']?\s*(?!["']?#)[^"'\s]/i, 'a style from another file'],
]

function findSvgProblem(text: string): string | undefined {
  const content = text.replace(/^\ufeff?\s*(?:<\?xml[^>]*\?>)?(?:\s|<!--[\s\S]*?-->)*/, '')
  if (!/^<svg[\s>]/.test(content)) return 'is neither an SVG nor a PNG'
  const found = forbiddenInSvg.find(([pattern]) => pattern.test(content))
  return found ? `contains ${found[1]}, which is not allowed` : findXmlProblem(text)
}

const svgNamespace = 'http://www.w3.org/2000/svg'

/** Browsers show no image at all if it is not well-formed, or not in the namespace of SVG. */
function findXmlProblem(text: string): string | undefined {
  const problems: string[] = []
  const parser = new SaxesParser({ xmlns: true })
  parser.on('error', ({ message }) => problems.push(`is not well-formed at line ${message}`))
  let rootNamespace: string | undefined
  parser.on('opentag', ({ uri }) => {
    rootNamespace ??= uri
  })
  parser.write(text).close()
  if (problems.length === 0 && rootNamespace !== svgNamespace)
    return `lacks xmlns="${svgNamespace}" in its svg element, without which browsers show nothing`
  return problems[0]
}
