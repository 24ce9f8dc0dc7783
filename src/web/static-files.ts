// The files that browsers load from /web/. Each is built from its source and compressed once.
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { CompressedContent } from '../http/compressed-content.ts'
import { bundleScript } from '../pages/bundle-script.ts'
import { minifyCss } from '../pages/page-templates.ts'

/** The source of each path below /web/. A script is bundled with everything that it imports. */
const sources = {
  'palette.js': 'palette/palette-script.js',
  'palette.d.ts': 'palette/palette.d.ts',
  'dashboard.js': 'dashboard/dashboard.tsx',
  'dashboard.css': 'dashboard/dashboard.css',
  'home.js': 'home/home.js',
  'home.css': 'home/home.css',
  'page-theme.css': '../pages/page-theme.css',
  'page-layout.css': 'page-layout.css',
  'icon.svg': 'icon.svg',
} as const
type TextsPath = `palette-texts-${string}.js`
export type StaticPath = keyof typeof sources | TextsPath

const textsFolder = fileURLToPath(new URL('../texts', import.meta.url))
/** The texts of the palette by language. Its script contains the English ones. */
const paletteTextFiles = readdirSync(textsFolder)
  .filter((name) => /^[a-z]{2}\.ts$/.test(name))
  .map((name): TextsPath => `palette-texts-${name.slice(0, 2)}.js`)
const paletteFiles = ['palette.js', 'palette.d.ts', ...paletteTextFiles] as const

function isTextsPath(name: string): name is TextsPath {
  return name.startsWith('palette-texts-')
}

/** The files of each part of the web interface. WEB_PARTS switches parts on. */
export const filesOfPart = {
  palette: paletteFiles,
  dashboard: ['page-theme.css', 'page-layout.css', 'dashboard.css', 'dashboard.js', 'icon.svg'],
  home: ['page-theme.css', 'page-layout.css', 'home.css', 'home.js', 'icon.svg', ...paletteFiles],
} as const satisfies Record<string, readonly StaticPath[]>
export type WebPart = keyof typeof filesOfPart

type Format = { type: string; build(source: URL): Buffer }
/** The Content-Type and the build step by file name extension. */
const formats: Record<string, Format> = {
  '.js': { type: 'text/javascript; charset=utf-8', build: buildScript },
  '.css': { type: 'text/css; charset=utf-8', build: minifyStyleSheet },
  '.ts': { type: 'application/typescript; charset=utf-8', build: readFileSync },
  '.svg': { type: 'image/svg+xml', build: readFileSync },
}

const loadedFiles = new Map<StaticPath, CompressedContent>()

/** Returns a file as browsers receive it. It is built at the first call in a process. */
export function loadStaticFile(path: StaticPath): CompressedContent {
  const loaded = loadedFiles.get(path)
  if (loaded) return loaded
  const format = formats[extname(path)]
  if (!format) throw new Error(`${path} has an unknown file name extension.`)
  const content = isTextsPath(path)
    ? buildTexts(path)
    : format.build(new URL(sources[path], import.meta.url))
  const file = new CompressedContent(content, format.type)
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

/** A file that a page loads: the URL of versionedPath, and the hash that browsers check. */
export type LinkedFile = { path: string; integrity: string }

export function linkFile(path: StaticPath): LinkedFile {
  return { path: versionedPath(path), integrity: loadStaticFile(path).integrity }
}

/** How the palette, which is a package too, names the texts of a language. */
const textsPackage = 'trade-quoting-palette/texts/'
const palettePackages = {
  [`${textsPackage}en`]: `${textsFolder}/en.ts`,
  'trade-quoting-palette/format-exactly': `${textsFolder}/format-exactly.ts`,
}

function buildScript(source: URL): Buffer {
  const bundle = bundleScript(source, {
    platform: 'neutral',
    alias: palettePackages,
    // The palette loads the other texts only if it needs them.
    external: [`${textsPackage}*`],
    legalComments: 'none',
  }).replace(new RegExp(`${textsPackage}([a-z]+)`, 'g'), './palette-texts-$1.js')
  // esbuild does not minify template literals. The palette has its style sheet in one.
  return Buffer.from(bundle.replace(/(?<=`)\n[^`]+(?=`)/, minifyInTemplate))
}

/** Returns the part of the texts of a language that the palette needs. */
function buildTexts(path: TextsPath): Buffer {
  const [language] = path.match(/[a-z]+(?=\.js)/) ?? []
  const contents = `export { palette } from './${language}.ts'`
  return Buffer.from(bundleScript({ contents, resolveDir: textsFolder }))
}

/** Returns the minified CSS of a template literal. Properties of its own (--_) get short names. */
function minifyInTemplate(css: string): string {
  const { code } = transformSync(css, { loader: 'css', minify: true, charset: 'utf8' })
  // esbuild keeps the spaces in values of custom properties.
  const withoutSpaces = code.replaceAll(/(?<=var\(|--[\w-]+:|,) | (?=\)[;)])/g, '')
  const names = [...new Set(withoutSpaces.match(/--_\w+/g))]
  const shortened = withoutSpaces.replaceAll(/--_\w+/g, (name) => `--_${names.indexOf(name)}`)
  return shortened.trim().replaceAll('\\', '\\\\')
}

function minifyStyleSheet(source: URL): Buffer {
  return Buffer.from(minifyCss(readFileSync(source, 'utf8')))
}
