// Makes the programs of a test run start faster. The libraries come as 1,000 small modules, which
// cost each of the 250 processes of a run 0.3 s. Here each of them becomes one module. What esbuild
// makes of scripts and style sheets at each start is made once in a run. Programs whose environment
// is not that of the run, such as those that render PDFs, start fast too.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** The imported names. All are bundled together, so that they share their common modules. */
const libraries = {
  kysely: 'kysely',
  'kysely-migration': 'kysely/migration',
  typebox: '@sinclair/typebox',
  'typebox-compiler': '@sinclair/typebox/compiler',
  'typebox-value': '@sinclair/typebox/value',
  fastify: 'fastify',
  ioredis: 'ioredis',
  pg: 'pg',
  undici: 'undici',
}

/** pino starts threads with files of its own. The others are optional and not installed. */
const notBundled = ['pino', 'pg-native', 'pg-cloudflare']

/** esbuild exports a CommonJS module as its default only. */
const commonJsLibraries = ['fastify', 'ioredis', 'pg', 'undici']

/** Gives the bundles of CommonJS modules the named exports that Node finds in them. */
const namedExports: Plugin = {
  name: 'named-exports',
  setup(build) {
    const namespace = 'named-exports'
    build.onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'entry-point' && commonJsLibraries.includes(path) ? { path, namespace } : undefined,
    )
    build.onLoad({ filter: /./, namespace }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => /^(?!default$)\w+$/.test(name))
      const contents = `
        import library from '${path}'
        export default library
        export const { ${names.join(', ')} } = library`
      return { contents, resolveDir: root }
    })
  },
}

const root = join(import.meta.dirname, '..')

/**
 * Bundles the libraries into `directory`. Returns options for Node (NODE_OPTIONS), with which a
 * program, and every Node program that it starts, imports the bundles in their place. Programs
 * without NODE_COMPILE_CACHE keep their compiled modules in `compileCache`.
 */
export async function bundleLibraries(directory: string, compileCache: string): Promise<string> {
  await mkdir(directory, { recursive: true })
  await build({
    entryPoints: libraries,
    absWorkingDir: root,
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    plugins: [namedExports],
    external: notBundled,
    banner: { js: requireFromHere },
  })
  const urls = Object.entries(libraries).map(([file, library]) => [
    library,
    pathToFileURL(join(directory, `${file}.mjs`)).href,
  ])
  const esbuildOnce = join(directory, 'esbuild-once.mjs')
  await writeFile(esbuildOnce, runEsbuildOnce(directory))
  urls.push(['esbuild', pathToFileURL(esbuildOnce).href])
  const preloaded = join(directory, 'use-bundles.mjs')
  await writeFile(preloaded, useBundles(Object.fromEntries(urls)) + startFast(compileCache))
  return `--import=${pathToFileURL(preloaded).href}`
}

/** Bundled CommonJS modules load the modules of Node, and those not bundled, with `require`. */
const requireFromHere = `
import { createRequire as createRequireFromHere } from 'node:module'
const require = createRequireFromHere(${JSON.stringify(import.meta.url)})
`

const useBundles = (urls: Record<string, string>) => `
import { registerHooks } from 'node:module'
const urls = new Map(Object.entries(${JSON.stringify(urls)}))
registerHooks({
  resolve(name, context, next) {
    const url = context.conditions.includes('import') ? urls.get(name) : undefined
    return url ? { url, format: 'module', shortCircuit: true } : next(name, context)
  },
})
`

/**
 * Passes the preloaded module as an argument to child processes that do not inherit NODE_OPTIONS,
 * because tests compare their environment. Each process saves its compiled modules early, because
 * many are killed.
 */
const startFast = (compileCache: string) => `
import { ChildProcess } from 'node:child_process'
import { enableCompileCache, flushCompileCache } from 'node:module'
if (!process.env.NODE_COMPILE_CACHE) enableCompileCache(${JSON.stringify(compileCache)})
setTimeout(flushCompileCache, ${flushAfterMs}).unref()
const { spawn } = ChildProcess.prototype
ChildProcess.prototype.spawn = function (options) {
  const program = options.args?.lastIndexOf(process.execPath) ?? -1
  const inherits = options.envPairs?.some((pair) => pair.includes(import.meta.url))
  const args = [...(options.args ?? [])]
  if (program !== -1 && !inherits) args.splice(program + 1, 0, '--import=' + import.meta.url)
  return spawn.call(this, { ...options, args })
}
`

/** A program has loaded its modules after this long, and most of them still run. */
const flushAfterMs = 1_000

/**
 * Keeps the results of esbuild for the other programs of the run, because each call starts a
 * process. The sources do not change during a run.
 */
const runEsbuildOnce = (directory: string) => `
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const require = createRequire(${JSON.stringify(import.meta.url)})
const writeRegExp = (_key, value) => (value instanceof RegExp ? String(value) : value)
const keepResult = (name) => (...options) => {
  const text = JSON.stringify([name, options], writeRegExp)
  const key = createHash('sha256').update(text).digest('hex')
  const file = ${JSON.stringify(directory)} + '/esbuild-' + key + '.json'
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const result = require('esbuild')[name](...options)
  const outputFiles = result.outputFiles?.map(({ path, text }) => ({ path, text }))
  const kept = JSON.stringify({ ...result, outputFiles })
  try {
    // Another program never reads half a file.
    writeFileSync(file + process.pid, kept)
    renameSync(file + process.pid, file)
  } catch (error) {
    // A test runs programs as another user, who may not write there.
    if (error.code !== 'EACCES') throw error
  }
  return JSON.parse(kept)
}
export const buildSync = keepResult('buildSync')
export const transformSync = keepResult('transformSync')
export const build = (...options) => require('esbuild').build(...options)
`
