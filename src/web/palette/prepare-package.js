// Writes the texts of the package to texts/. npm runs this before it packs or links the folder.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const folder = fileURLToPath(new URL('../../texts/', import.meta.url))
for (const file of readdirSync(folder)) {
  if (!/^[a-z]{2}\.ts$/.test(file)) continue
  buildSync({
    stdin: {
      contents: `export { palette, palette as default } from './${file}'`,
      resolveDir: folder,
    },
    bundle: true,
    format: 'esm',
    charset: 'utf8',
    outfile: fileURLToPath(new URL(`texts/${file.replace('.ts', '.js')}`, import.meta.url)),
  })
}
