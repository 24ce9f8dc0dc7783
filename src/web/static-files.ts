// The files of this folder as browsers get them: read once, compressed once, named by their content.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { extname } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Negotiator from 'negotiator'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'application/typescript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Where a file stands in the source, if its address does not say it. */
const sources: Record<string, string> = {
  'look.css': '../http/page-theme.css',
  'page.css': 'page-layout.css',
  'dashboard.css': 'dashboard/dashboard.css',
  'home.css': 'home/home.css',
  'palette.js': 'palette/palette.js',
  'palette.d.ts': 'palette/palette.d.ts',
}
const compressors = { br: brotliCompressSync, gzip: gzipSync, identity: (bytes: Buffer) => bytes }
type Encoding = keyof typeof compressors
const smallestFirst: Encoding[] = ['br', 'gzip']

export type Sent = { bytes: Buffer; etag: string; type: string; encoding: Encoding }
export type Asset = {
  /** Its content's name: the same bytes have the same, other bytes another. */
  version: string
  /** The form to send to a client with these headers. */
  as(headers: IncomingHttpHeaders): Sent
}

/** Reads a file of this folder, or the look of all pages; throws when there is none, or when nobody has said what its type is. */
export function readAsset(name: string): Asset {
  const file = readFileSync(new URL(sources[name] ?? name, import.meta.url))
  const plain = extname(name) === '.js' && !name.endsWith('.min.js') ? withoutComments(file) : file
  const type = types[extname(name)]
  if (type === undefined) throw new Error(`${name}: files of this kind have no type yet`)
  return asset(plain, type)
}

/** Bytes that are sent as they are, compressed once. */
export function asset(plain: Buffer, type: string): Asset {
  const version = createHash('sha256').update(plain).digest('base64url').slice(0, 12)
  const made = new Map<Encoding, Sent>()
  return {
    version,
    as(headers) {
      const taken = new Negotiator({ headers }).encodings()
      // The smallest that is taken at all: browsers name gzip first and mean no preference.
      const encoding = smallestFirst.find((one) => taken.includes(one)) ?? 'identity'
      // As small as it gets: made once, at the first request for it.
      const sent = made.get(encoding) ?? {
        bytes: compressors[encoding](plain),
        etag: `"${version}-${encoding}"`,
        type,
        encoding,
      }
      made.set(encoding, sent)
      return sent
    },
  }
}

/** Comments are for those who edit a script: of ours all begin with two stars or take whole lines. Nothing else of it changes. */
function withoutComments(script: Buffer): Buffer {
  return Buffer.from(
    script
      .toString()
      .replace(/\/\*\*.*?\*\/ */gs, '')
      .replace(/^ *\/\/.*\n/gm, '')
      .replace(/^\s+/gm, ''),
  )
}

/** The address of a file of this folder that browsers may keep for good, below the base of the service. */
export function versionedPath(name: string): string {
  return `/web/${name}?v=${readAsset(name).version}`
}
