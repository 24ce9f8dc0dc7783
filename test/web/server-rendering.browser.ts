// The palette in a page that a server has rendered with React 19: it hydrates without errors, and
// a controlled input gets the chosen product. `make browser-test` takes three browsers.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { findTestBrowsers, startTestBrowser } from '../support/browsers/browser-page.ts'
import { insertExampleProducts } from '../support/database/example-products.ts'
import { eventually } from '../support/eventually.ts'
import { startLocalServer } from '../support/servers/local-server.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(300_000)
const run = promisify(execFile)
const examples = join(import.meta.dirname, '../../examples')
// In the folder of the example, so that the rendered page finds React.
const directory = await mkdtemp(join(examples, 'react/.built-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))

const service = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
await insertExampleProducts(service.db)
await service.sync()
const serviceUrl = await service.app.listen({ host: '127.0.0.1', port: 0 })

let page = ''
const files = new Map<string, Buffer>()
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }
const origin = await startLocalServer(t, ({ url = '/' }, response) => {
  const body = url === '/' ? page : files.get(url)
  response.setHeader('content-type', types[extname(url)] ?? 'text/html; charset=utf-8')
  response.writeHead(body === undefined ? 404 : 200).end(body)
})
const key = await createApiKey(service.db, {
  kind: 'publishable',
  name: 'example',
  scopes: ['search:read'],
  origins: [origin],
  unlimited: true,
})
// The development build of React reports every difference from what the server has sent.
const env = {
  ...process.env,
  NODE_ENV: 'development',
  VITE_QUOTES_URL: serviceUrl,
  VITE_QUOTES_KEY: key,
}
const build = (...options: string[]) =>
  run(process.execPath, [join(examples, 'node_modules/vite/bin/vite.js'), 'build', ...options], {
    cwd: join(examples, 'react'),
    env,
  })
await build('--outDir', join(directory, 'client'))
await build('--ssr', 'src/server.tsx', '--outDir', join(directory, 'server'))
for (const name of await readdir(join(directory, 'client/assets')))
  files.set(`/assets/${name}`, await readFile(join(directory, 'client/assets', name)))
files.set(
  '/error-recorder.js',
  await readFile(new URL('../support/browsers/error-recorder.js', import.meta.url)),
)
const { render } = (await import(pathToFileURL(join(directory, 'server/server.js')).href)) as {
  render(): string
}
const index = await readFile(join(directory, 'client/index.html'), 'utf8')
page = index
  .replace('<main id="root">', `<main id="root">${render()}`)
  .replace(
    '<title>',
    '<link rel="icon" href="data:,"><script src="/error-recorder.js"></script><title>',
  )

for (const name of findTestBrowsers()) {
  await t.test(`in ${name}`, async (t) => {
    const openPage = await startTestBrowser(t, name)
    const browserPage = await openPage(t, { origins: [origin, serviceUrl] })
    await browserPage.goto(origin)
    const readState = () =>
      browserPage.evaluate(() => {
        const input = document.querySelector('input')
        return {
          isHydrated: Object.keys(input ?? {}).some((own) => own.startsWith('__reactProps')),
          text: document.querySelector('main > p')?.textContent ?? '',
          value: input?.value ?? '',
          active: document.querySelector('[aria-selected=true] [part=name]')?.textContent ?? '',
          lines: [...document.querySelectorAll('li')].map(({ textContent }) => textContent),
        }
      })
    type State = Awaited<ReturnType<typeof readState>>
    const waitFor = (check: (state: State) => boolean) => eventually(readState, check)
    t.match(await waitFor(({ isHydrated }) => isHydrated), { isHydrated: true })
    await browserPage.evaluate(() => document.querySelector('input')?.focus())
    await browserPage.typeText('llave')
    t.match(await waitFor(({ text }) => text.endsWith('llave')), { value: 'llave' })
    const wrench = 'Llave ajustable 250 mm'
    t.match(await waitFor(({ active }) => active === wrench), { active: wrench })
    await browserPage.press('Enter')
    const chosen = await waitFor(({ text }) => text.endsWith(wrench))
    t.match(chosen, { text: `If something is out of stock: ${wrench}`, value: wrench })
    await browserPage.press('Control+k')
    await browserPage.typeText('martillo')
    const readDialog = () =>
      browserPage.evaluate(() => {
        const root = document.querySelector('product-palette')?.shadowRoot
        const active = root?.querySelector('[aria-selected=true] [part=name]')
        return root?.querySelector('[data-busy]') ? '' : active?.textContent
      })
    const hammer = 'Martillo de bola 300 g'
    t.equal(await eventually(readDialog, (active) => active === hammer), hammer)
    await browserPage.press('Enter')
    const { lines } = await waitFor((state) => state.lines.length > 0)
    t.match(lines, [hammer])
    t.same(await browserPage.readErrors(), [])
  })
}
