// Writes what the package takes from src/texts/ to texts/. npm runs this before it packs or links
// the folder.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const folder = fileURLToPath(new URL('../../texts/', import.meta.url))
const buildFile = (/** @type {string} */ name, /** @type {string} */ exported) =>
  buildSync({
    stdin: { contents: `export { ${exported} } from './${name}.ts'`, resolveDir: folder },
    bundle: true,
    format: 'esm',
    charset: 'utf8',
    outfile: fileURLToPath(new URL(`texts/${name}.js`, import.meta.url)),
  })

buildFile('format-exactly', 'formatExactly')
for (const file of readdirSync(folder)) {
  if (/^[a-z]{2}\.ts$/.test(file)) buildFile(file.slice(0, 2), 'palette, palette as default')
}
