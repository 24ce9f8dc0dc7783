// The files that browsers load from /web/: the source of each, minified and compressed once.
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { minifyCss } from '../http/html-page.ts'
import { type CompressedContent, compressContent } from './compressed-content.ts'

/** Path below /web/ → source. A script is served as one file with everything that it imports. */
const sources = {
  'palette.js': 'palette/product-palette.js',
  'palette.d.ts': 'palette/palette.d.ts',
  'dashboard/dashboard.js': 'dashboard/dashboard.js',
  'dashboard.css': 'dashboard/dashboard.css',
  'home/home.js': 'home/home.js',
  'home.css': 'home/home.css',
  'look.css': '../http/page-theme.css',
  'page.css': 'page-layout.css',
  'icon.svg': 'icon.svg',
} as const
export type StaticPath = keyof typeof sources

/** The parts of the web interface that WEB_PARTS switches on, and the files of each. */
export const filesOfPart = {
  palette: ['palette.js', 'palette.d.ts'],
  dashboard: ['look.css', 'page.css', 'dashboard.css', 'dashboard/dashboard.js', 'icon.svg'],
  home: [
    'look.css',
    'page.css',
    'home.css',
    'home/home.js',
    'palette.js',
    'palette.d.ts',
    'icon.svg',
  ],
} as const satisfies Record<string, StaticPath[]>
export type WebPart = keyof typeof filesOfPart

type Format = { type: string; prepare(source: URL): Buffer }
const formats: Record<string, Format> = {
  '.js': { type: 'text/javascript; charset=utf-8', prepare: bundleScript },
  '.css': { type: 'text/css; charset=utf-8', prepare: minifyStyleSheet },
  '.ts': { type: 'application/typescript; charset=utf-8', prepare: readFileSync },
  '.svg': { type: 'image/svg+xml', prepare: readFileSync },
}

const loadedFiles = new Map<StaticPath, CompressedContent>()

/** Returns a file as browsers get it. Scripts are bundled at the first call in a process. */
export function loadStaticFile(path: StaticPath): CompressedContent {
  const loaded = loadedFiles.get(path)
  if (loaded) return loaded
  const format = formats[extname(path)]
  if (!format) throw new Error(`${path}: no media type for this file name extension`)
  const content = format.prepare(new URL(sources[path], import.meta.url))
  const file = compressContent(content, format.type)
  loadedFiles.set(path, file)
  return file
}

/**
 * Returns the URL of a file with its version, relative to the base URL of the service. Browsers
 * cache it for a year; a changed file has another version.
 */
export function versionedPath(path: StaticPath): string {
  return `web/${path}?v=${loadStaticFile(path).version}`
}

function bundleScript(source: URL): Buffer {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    charset: 'utf8',
    legalComments: 'none',
    write: false,
  })
  const [bundle] = outputFiles
  if (!bundle) throw new Error(`esbuild returned no bundle for ${source}`)
  return Buffer.from(bundle.contents)
}

function minifyStyleSheet(source: URL): Buffer {
  return Buffer.from(minifyCss(readFileSync(source, 'utf8')))
}
