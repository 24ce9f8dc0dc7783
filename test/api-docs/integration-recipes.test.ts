// Runs the recipes of docs/integrating.md unchanged: curl, a generated TypeScript client, Python.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const document = readFileSync(join(import.meta.dirname, '../../docs/integrating.md'), 'utf8')
const clientFolder = join(import.meta.dirname, 'client')
const recipes = new Map(
  [...document.matchAll(/<!-- test: (\w+) -->\n```\w+\n(.*?)```/gs)].map(
    ([, name = '', code = '']) => [name, code],
  ),
)

const { app, db, sync } = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
await db
  .insertInto('products')
  .values([
    { sku: 'AB-742-X', name: 'Martillo de bola 300 g', price: '12.5', currency: 'EUR' },
    ...Array.from({ length: 60 }, (_, i) => ({ sku: `M-${i}`, name: `Martillo ${i}` })),
  ])
  .execute()
await sync()
await addQuote(db, 'P-1')
await addQuote(db, 'P-2', { status: 'accepted', decided_on: '2026-11-03', country: 'ES' })
await addQuote(db, 'P-3', { status: 'accepted', decided_on: '2026-11-04', country: null })
const token = await createQuoteLink(db, { number: 'P-1' })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const env = {
  TQS_URL: url,
  TQS_KEY: await createApiKey(db, {
    kind: 'secret',
    name: 'our ERP',
    scopes: ['search:read', 'stats:read'],
  }),
  TQS_LINK: `${url}/quote/share/${token}`,
  TQS_TOKEN: token,
}
const directory = createTemporaryDirectory(t, 'integrating')

t.test('finds every recipe that is marked as tested', async (t) => {
  t.same([...recipes.keys()], ['curl', 'generate', 'typescript', 'python'])
  t.equal(document.match(/^\*\*Tested/gm)?.length, 3)
  t.equal(document.match(/\*Not run by the tests:/g)?.length, 2)
})

t.test('the curl recipe works', async (t) => {
  const { status, output } = await run('sh', ['-euc', recipes.get('curl') ?? ''])
  t.equal(status, 0, output)
  t.match(output, /"query":"martilo","hits":\[\{"id"/)
  t.match(
    output,
    /hits.*dimension,key,quotes,accepted,revenue,currency,.*\r\nasOf,.*\r\ntotal,.*"number":"P-1"/s,
  )
  t.equal(readFileSync(join(directory, 'presupuesto.pdf')).toString('latin1', 0, 5), '%PDF-')
})

t.test('a TypeScript client generated from the document compiles and runs', async (t) => {
  const tool = (name: string) => join(clientFolder, 'node_modules/.bin', name)
  t.ok(
    existsSync(tool('openapi-typescript')),
    'its tools are installed by `make test` (npm ci --prefix test/api-docs/client)',
  )
  const types = join(clientFolder, 'api.d.ts')
  const program = join(clientFolder, 'recipe.ts')
  const wrongProgram = join(clientFolder, 'wrong-recipe.ts')
  t.teardown(() => [types, program, wrongProgram].map((file) => rmSync(file, { force: true })))
  const [command = '', ...args] = (recipes.get('generate') ?? '')
    .trim()
    .replace('"$TQS_URL/openapi.json"', `${url}/openapi.json`)
    .split(' ')
    .slice(1)
  const generated = await run(process.execPath, [tool(command), ...args], clientFolder)
  t.equal(generated.status, 0, generated.output)
  const recipe = `declare const process: { env: Record<string, string | undefined> }
${recipes.get('typescript')}`
  writeFileSync(program, recipe)
  // The generated types reject a value that the document does not allow.
  writeFileSync(wrongProgram, recipe.replace("'previous_year'", "'last_year'"))
  const compiled = await run(process.execPath, [tool('tsc'), '-p', clientFolder], clientFolder)
  const errors = compiled.output.split('\n').filter((line) => line.includes('error TS'))
  t.same(
    errors.filter((line) => !line.startsWith('wrong-recipe.ts(')),
    [],
    compiled.output,
  )
  t.match(errors, [/"last_year"' is not assignable/])
  const { status, output } = await run(process.execPath, [program], clientFolder)
  t.equal(status, 0, output)
  t.match(
    output,
    new RegExp(
      "price { amount: '12\\.50', currency: 'EUR' }\\n2026-11 2 2491\\.20 EUR\\n" +
        'open \\S+ lost \\S+\\nwon by value \\S+ median days \\S+\\nquote P-1 1507\\.18',
    ),
  )
})

t.test('the Python recipe works', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) {
    console.error(
      'NOT RUN: the Python recipe of docs/integrating.md, because python3 is not installed.',
    )
    return void t.pass('python3 is not installed: the recipe was not run')
  }
  const { status, output } = await run('python3', ['-c', recipes.get('python') ?? ''])
  t.equal(status, 0, output)
  t.match(output, /ES 1 1245\.60\nunknown 1 1245\.60\nnothing changed\n61 products/)
})

function run(
  command: string,
  args: string[],
  cwd = directory,
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    })
    const chunks: Buffer[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output: Buffer.concat(chunks).toString() }))
  })
}
