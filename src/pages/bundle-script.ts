// Bundles the script of a page with everything that it imports.
import { fileURLToPath } from 'node:url'
import { type BuildOptions, buildSync } from 'esbuild'

/**
 * Returns the minified bundle of a script, which is a file or code with the folder of its imports.
 * `options` are those of esbuild.
 */
export function bundleScript(
  source: URL | { contents: string; resolveDir: string },
  options: BuildOptions = {},
): string {
  const { outputFiles } = buildSync({
    ...options,
    ...(source instanceof URL ? { entryPoints: [fileURLToPath(source)] } : { stdin: source }),
    bundle: true,
    minify: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // A deployment has no tsconfig.json.
    tsconfigRaw: {},
    target: 'es2022',
    charset: 'utf8',
    write: false,
  })
  const [bundle] = outputFiles
  if (!bundle) throw new Error(`esbuild returned no bundle for ${JSON.stringify(source)}.`)
  return bundle.text
}
