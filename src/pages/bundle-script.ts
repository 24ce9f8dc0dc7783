// Bundles the script of a page with everything that it imports.
import { fileURLToPath } from 'node:url'
import { type BuildOptions, buildSync } from 'esbuild'

/** Returns the minified bundle of a script. `options` are those of esbuild. */
export function bundleScript(source: URL, options: BuildOptions = {}): string {
  const { outputFiles } = buildSync({
    ...options,
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    write: false,
  })
  const [bundle] = outputFiles
  if (!bundle) throw new Error(`esbuild returned no bundle for ${source}.`)
  return bundle.text
}
