// The package of the palette: what `npm pack` makes can be installed, rendered on a server and used
// in React, Vue, Svelte and Preact, and the examples work in a browser.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { openPage, startBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { testService } from '../support/service/test-service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const installed = join(root, 'examples/node_modules')
const packageName = 'trade-quoting-palette'

const directory = await mkdtemp(join(tmpdir(), 'tqs-palette-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
await installPackage()

/** Packs the palette and installs it beside the frameworks, as npm would. */
async function installPackage(): Promise<void> {
  const modules = join(directory, 'node_modules')
  await mkdir(join(modules, packageName), { recursive: true })
  const source = join(root, 'src/web/palette')
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], {
    cwd: source,
  })
  const [packed] = JSON.parse(stdout) as { filename: string }[]
  const archive = join(directory, packed?.filename ?? '')
  await run('tar', ['-xzf', archive, '--strip-components=1', '-C', join(modules, packageName)])
  for (const name of await readdir(installed)) {
    if (name !== packageName) await symlink(join(installed, name), join(modules, name))
  }
}

t.test('the package contains what its exports name, and nothing of the service', async (t) => {
  const folder = join(directory, 'node_modules', packageName)
  const { exports, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const files = await readdir(folder, { recursive: true })
  const targets = Object.values(exports as Record<string, Record<string, string>>)
    .flatMap((conditions) => Object.values(conditions))
    .map((path) => path.replace('./', '').replace('*', 'fr'))
  t.ok(targets.length > 8)
  for (const target of targets) t.ok(files.includes(target), target)
  t.notOk(files.includes('palette-script.js'), 'the script tag is for the service')
  const service = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  t.equal(version, service.version)
})

t.test('a server that renders pages can import it', async (t) => {
  const script = `
    const { ProductPalette } = await import('${packageName}')
    const { ProductPalette: same } = await import('${packageName}/element')
    const { default: texts } = await import('${packageName}/texts/fr')
    console.log(ProductPalette === same, texts.title)
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: directory,
  })
  t.equal(stdout, 'true Rechercher des produits\n')
})

t.test('JSX and templates know the element and the type of its events', async (t) => {
  const use = (attributes: string) =>
    `<product-palette endpoint="https://quotes.example" api-key="tqp_1" ${attributes} />`
  const select = (extra = '') =>
    `onproduct-select={({ detail }) => { const sku: string = detail.hit.sku${extra}; sku }}`
  const files: Record<string, { source: string; jsx?: string }> = {
    'react.tsx': { source: `export const page = ${use(select())}`, jsx: 'react' },
    'preact.tsx': { source: `export const page = ${use(select())}`, jsx: 'preact' },
    'svelte.ts': {
      source: `import type { SvelteHTMLElements } from 'svelte/elements'
        export const attributes: SvelteHTMLElements['product-palette'] = {
          'api-key': 'tqp_1',
          'onproduct-select': ({ detail }) => { const sku: string = detail.hit.sku; sku },
        }`,
    },
    'vue.ts': {
      source: `import type { GlobalComponents } from 'vue'
        type Properties = InstanceType<GlobalComponents['product-palette']>['$props']
        export const properties: Properties = {
          'api-key': 'tqp_1',
          onProductSelect: ({ detail }) => { const sku: string = detail.hit.sku; sku },
        }`,
    },
    'plain.ts': {
      source: `import { ProductPalette, type ProductSelectEvent } from '${packageName}/element'
        import texts from '${packageName}/texts/ca'
        const palette = document.createElement('product-palette')
        palette.strings = { ...texts, title: 'Cerca' }
        palette.addEventListener('product-select', (event: ProductSelectEvent) => event.detail.hit)
        palette.addEventListener('product-select', ({ detail }) => detail.hit.price?.amount)
        const listener = ({ detail }: ProductSelectEvent) => detail.hit
        palette.addEventListener('product-select', listener)
        palette.removeEventListener('product-select', listener)
        export const isPalette = palette instanceof ProductPalette`,
    },
  }
  // One run of tsc for all: the types of each framework are in modules of their own.
  for (const [name, { source, jsx }] of Object.entries(files)) {
    const framework = name.replace(/\..*/, '')
    const types = framework === 'plain' ? '' : `import type {} from '${packageName}/${framework}'\n`
    const pragma = jsx ? `/** @jsxImportSource ${jsx} */\n` : ''
    await writeFile(join(directory, name), pragma + types + source)
  }
  const found = await checkFiles(Object.keys(files))
  for (const name of Object.keys(files))
    t.same(
      found.split('\n').filter((line) => line.startsWith(name)),
      [],
      name,
    )
  t.equal(found, '')
  const wrong = `import type {} from '${packageName}/react'
    export const page = ${use(select('.length'))}`
  t.match(await checkTypes('wrong.tsx', wrong), /'number' is not assignable/)
})

t.test('the React code of docs/palette.md compiles as it stands', async (t) => {
  const document = await readFile(join(root, 'docs/palette.md'), 'utf8')
  const code = /```tsx\n(.*?)```/s.exec(document)?.[1] ?? ''
  t.match(code, /<product-palette/)
  t.equal(await checkTypes('documented.tsx', code), '')
})

/** Returns what tsc reports for a strict project with this file. */
async function checkTypes(name: string, source: string): Promise<string> {
  await writeFile(join(directory, name), source)
  return checkFiles([name])
}

/** Returns what tsc reports for a strict project with these files. */
async function checkFiles(names: string[]): Promise<string> {
  const options = `--noEmit --strict --target es2023 --lib es2023,dom,dom.iterable --module esnext
    --moduleResolution bundler --jsx react-jsx --jsxImportSource react`
  try {
    await run(join(root, 'node_modules/.bin/tsc'), [...options.split(/\s+/), ...names], {
      cwd: directory,
    })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

const service = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
await service.db
  .insertInto('products')
  .values({ sku: 'MAR-1', name: 'Martillo de bola', price: '12.50', currency: 'EUR' })
  .execute()
await service.sync()
const serviceUrl = await service.app.listen({ host: '127.0.0.1', port: 0 })

const served = new Map<string, string>()
const examplesServer = createServer(async ({ headers, url = '/' }, response) => {
  const folder = served.get(headers.host ?? '') ?? ''
  const path = new URL(url, serviceUrl).pathname.replace(/\/$/, '/index.html')
  const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }
  try {
    const content = await readFile(join(folder, path))
    response
      .setHeader('content-type', types[extname(path)] ?? 'application/octet-stream')
      .setHeader('content-security-policy', createPolicy(folder))
      .end(content)
  } catch {
    response.writeHead(404).end()
  }
})

/** The policy of examples/README.md. The frameworks need policies of their own for markup. */
function createPolicy(folder: string): string {
  const own = `default-src 'none'; script-src 'self' ${serviceUrl}; connect-src ${serviceUrl}`
  if (!folder.endsWith('plain-csp')) return own
  return `${own}; require-trusted-types-for 'script'; trusted-types 'none'`
}
await new Promise<void>((resolve) => examplesServer.listen(0, '127.0.0.1', resolve))
t.teardown(() => examplesServer.close())
const { port } = examplesServer.address() as AddressInfo
const examples = ['react', 'vue', 'svelte', 'plain-csp']
const key = await createApiKey(service.db, {
  kind: 'publishable',
  name: 'examples',
  scopes: ['search:read'],
  origins: [...examples, 'properties'].map((name) => `http://${name}.example.test:${port}`),
})
const settings = { VITE_QUOTES_URL: serviceUrl, VITE_QUOTES_KEY: key }
const browser = await startBrowser(t)

for (const name of examples) {
  t.test(`examples/${name} adds a chosen product to its order`, async (t) => {
    const { page } = await openExample(t, name, await build(name))
    await page.getByRole('button', { name: 'Add a product' }).click()
    await page.getByRole('combobox').fill('martilo')
    await page.locator('[part~=active] [part=mark]').waitFor()
    await page.keyboard.press('Enter')
    const lines = await eventually(
      () => page.locator('li').allInnerTexts(),
      (texts) => texts.length > 0,
    )
    t.equal(lines.length, 1)
    t.match(lines[0], 'Martillo de bola 12.50 EUR')
  })
}

t.test('properties that Svelte sets have an effect, also when they change', async (t) => {
  const folder = await copyExample('svelte', 'properties')
  await writeFile(join(folder, 'src/OrderPage.svelte'), pageWithProperties)
  t.match(await checkSvelte(folder), '0 errors and 0 warnings')
  const { page } = await openExample(t, 'properties', await buildWithVite(folder))
  const readResults = async (query: string) => {
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('combobox').fill(query)
    await page.locator('[part~=active] [part=mark]').last().waitFor()
    const options = await page.getByRole('option').allTextContents()
    const title = await page.getByRole('dialog').getAttribute('aria-label')
    await page.keyboard.press('Escape')
    return [title, ...options].join('; ')
  }
  t.match(await readResults('martillo'), /^First; 1: Martillo de bola.*; Martillo nuevo/)
  await page.getByRole('button', { name: 'Change' }).click()
  t.match(await readResults('martillo de'), /^Second; 2: Martillo de bola.*; Martillo de segunda/)
  await page.getByRole('button', { name: 'Remove' }).click()
  t.match(await readResults('martillo de bola'), /^Search products; Martillo de bola MAR-1[^;]*$/)
})

const pageWithProperties = `<script lang="ts">
  import 'trade-quoting-palette'
  import type { PaletteAction, PaletteStrings, RenderOption } from 'trade-quoting-palette'
  import type {} from 'trade-quoting-palette/svelte'

  type Properties = {
    strings?: PaletteStrings
    actions?: PaletteAction[]
    renderOption?: RenderOption
  }
  const endpoint = import.meta.env.VITE_QUOTES_URL
  const key = import.meta.env.VITE_QUOTES_KEY
  const createProperties = (title: string, label: string, place: string): Properties => ({
    strings: { title },
    actions: [{ id: 'new', label }],
    renderOption(hit, highlight) {
      const fragment = highlight('name')
      fragment.prepend(place)
      return fragment
    },
  })
  const first = createProperties('First', 'Martillo nuevo', '1: ')
  let strings = $state.raw(first.strings)
  let actions = $state.raw(first.actions)
  let renderOption = $state.raw(first.renderOption)
  function change(next: Properties) {
    ;({ strings, actions, renderOption } = next)
  }
</script>

<button onclick={() => change(createProperties('Second', 'Martillo de segunda mano', '2: '))}>
  Change
</button>
<button onclick={() => change({})}>Remove</button>
<product-palette {endpoint} api-key={key} {strings} {actions} {renderOption} lang="en">
  <button type="button">Add</button>
</product-palette>
`

/** Opens a built page at an origin of its own. */
async function openExample(t: Test, name: string, folder: string) {
  const host = `${name}.example.test:${port}`
  served.set(host, folder)
  const watched = await openPage(t, browser, { origins: [`http://${host}`, serviceUrl] })
  await watched.page.goto(`http://${host}/`)
  return watched
}

/** Returns the folder of a copy of an example. */
async function copyExample(name: string, copy = name): Promise<string> {
  const folder = join(directory, copy)
  await cp(join(root, 'examples', name), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules') && !path.endsWith('dist'),
  })
  return folder
}

/** Returns the folder of the built page. */
async function build(name: string): Promise<string> {
  const folder = await copyExample(name)
  if (name === 'plain-csp') {
    await fillPlaceholders(join(folder, 'index.html'))
    return folder
  }
  return buildWithVite(folder)
}

async function buildWithVite(folder: string): Promise<string> {
  await run(process.execPath, [join(installed, 'vite/bin/vite.js'), 'build'], {
    cwd: folder,
    env: { ...process.env, ...settings },
  })
  return join(folder, 'dist')
}

async function fillPlaceholders(file: string): Promise<void> {
  let text = await readFile(file, 'utf8')
  for (const [name, value] of Object.entries(settings)) text = text.replaceAll(`%${name}%`, value)
  await writeFile(file, text)
}

t.test('examples/react is typed without a cast', async (t: Test) => {
  const project = join(directory, 'react')
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', project])
  t.equal(stdout, '')
})

t.test('examples/svelte needs no cast', async (t) => {
  t.match(await checkSvelte(join(directory, 'svelte')), '0 errors and 0 warnings')
})

/** Returns what svelte-check reports for a project. */
async function checkSvelte(project: string): Promise<string> {
  const command = join(installed, 'svelte-check/bin/svelte-check')
  try {
    return (await run(process.execPath, [command, '--workspace', project])).stdout
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}
