// The units of deploy/systemd are valid, and their commands start the whole service with the .env
// that `make env MODE=without-containers` writes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createServicesEnv } from '../../scripts/env/env-without-containers.ts'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { findMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { emptyDatabase, servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { readUnit, startCommand, startUnit } from './systemd-unit.ts'

const root = join(import.meta.dirname, '../..')
const installed = '/opt/trade-quoting-service'
const directory = createTemporaryDirectory(t, 'systemd')
const program = join(directory, 'trade-quoting-service')
mkdirSync(program)
for (const name of readdirSync(root))
  if (!name.startsWith('.') && name !== 'company.json')
    symlinkSync(join(root, name), join(program, name))
// The path of the clone may contain spaces, which the units would have to quote.
const engineProgram = join(directory, 'meilisearch')
symlinkSync(findMeilisearch(), engineProgram)
const units = readdirSync(join(root, 'deploy/systemd'))
const patienceMs = 60_000

t.test('systemd-analyze verify finds nothing wrong', async (t) => {
  const folder = join(directory, 'units')
  mkdirSync(folder)
  const verify = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    const instance = name.replace('@.', '@1.')
    const { status, stderr, error } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', '--recursive-errors=no', join(folder, instance)],
      { encoding: 'utf8' },
    )
    if (error) throw new Error(`Install the package systemd of Debian: ${error.message}`)
    return { status, stderr }
  }
  for (const name of units) {
    const isEngine = name === 'quotes-meilisearch.service'
    const adapted = readUnit(name, [
      [installed, program],
      ...(isEngine ? [['/usr/local/bin/meilisearch', engineProgram] as [string, string]] : []),
    ])
    t.same(verify(name, adapted), { status: 0, stderr: '' }, name)
  }
})

/** Writes .env and company.json as the docs say, with the servers of the tests. */
async function configure(t: Test): Promise<number> {
  const databaseUrl = await emptyDatabase(t)
  const { redisUrl } = await servers()
  const enginePort = await chooseFixedPort()
  const indexerPort = await chooseFixedPort()
  const { host, pathname } = new URL(databaseUrl)
  const lines = createServicesEnv()
    .text.replaceAll('127.0.0.1:5432/quotes', `${host}${pathname}`)
    .replaceAll('//quotes_', '//systemd_')
    .replace(/^DATABASE_URL=.*$/m, `DATABASE_URL=${databaseUrl}`)
    .replace(/^REDIS_URL=.*$/m, `REDIS_URL=${redisUrl}`)
    .replace(/^MEILI_URL=.*$/m, `MEILI_URL=http://127.0.0.1:${enginePort}`)
  const own = [
    ...['PORT=1', 'OPS_PORT=1', `INDEXER_OPS_PORT=${indexerPort}`, 'REDIS_PREFIX=systemd:'],
    ...['ANONYMOUS_SCOPES=search:read', 'PUBLIC_BASE_URL=http://127.0.0.1'],
  ]
  writeFileSync(join(program, '.env'), `${lines}\n${own.join('\n')}\n`)
  writeCompanyFile(program)
  return enginePort
}

const isOk = (url: string) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

/** Returns an instance of the API's unit whose two ports are free: 30100 and 30101, and so on. */
async function chooseInstance(): Promise<string> {
  for (let instance = 10; instance < 27; instance += 1) {
    const ports = [0, 1].map((digit) => choosePort('the API', Number(`30${instance}${digit}`)))
    const results = await Promise.allSettled(ports)
    if (results.every(({ status }) => status === 'fulfilled')) return String(instance)
  }
  throw new Error('No two of the ports 30100 to 30261 are free.')
}

t.test('the commands of all units start a service that answers', async (t) => {
  const enginePort = await configure(t)
  const state = join(directory, 'state')
  mkdirSync(state)
  const engine = startUnit(
    t,
    readUnit('quotes-meilisearch.service', [
      [`${installed}/.env`, `${program}/.env`],
      ['/usr/local/bin/meilisearch', engineProgram],
      ['/var/lib/quotes-meilisearch', state],
      ['127.0.0.1:7700', `127.0.0.1:${enginePort}`],
    ]),
  )
  const engineHealth = `http://127.0.0.1:${enginePort}/health`
  t.ok(await eventually(() => isOk(engineHealth), Boolean, patienceMs), engine.output())

  const moved: [string, string][] = [[installed, program]]
  const migrate = startUnit(t, readUnit('quotes-migrate.service', moved))
  t.equal(await migrate.exit, 0, migrate.output())

  const indexer = startUnit(t, readUnit('quotes-indexer.service', moved))
  const instance = await chooseInstance()
  const api = startUnit(t, readUnit('quotes-api@.service', moved), instance)
  const [url, opsUrl] = [0, 1].map((digit) => `http://127.0.0.1:30${instance}${digit}`)
  const ready = await eventually(
    () =>
      fetch(`${opsUrl}/health/ready`).then(
        async (response) => (await response.json()) as { status: string },
        () => null,
      ),
    (answer) => answer?.status === 'ready',
    patienceMs,
  )
  t.match(ready, { status: 'ready' }, `${api.output()}\n${indexer.output()}`)
  t.ok(await eventually(() => isOk(`${url}/api/search?q=martillo`), Boolean, patienceMs))
  for (const { child } of [api, indexer]) child.kill('SIGTERM')
  t.same(await Promise.all([api.exit, indexer.exit]), [0, 0])
  await startWithoutUnits(t)
})

/** Runs the commands that start the programs without systemd, each in a terminal of its own. */
async function startWithoutUnits(t: Test): Promise<void> {
  const docs = readFileSync(join(root, 'docs/operations/without-containers.md'), 'utf8')
  const [, block = ''] = /```sh\n((?:scripts\/run (?:server|indexer)\n)+)```/.exec(docs) ?? []
  t.equal(block, 'scripts/run server\nscripts/run indexer\n')
  const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
  const ports = { PORT: String(port), OPS_PORT: String(opsPort) }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const programs = block
      .trim()
      .split('\n')
      .map((command) => startCommand(t, command, ports, program))
    const output = () => programs.map((program) => program.output()).join('\n')
    const ready = `http://127.0.0.1:${opsPort}/health/ready`
    t.ok(await eventually(() => isOk(ready), Boolean, patienceMs), output())
    // A process that has just started on a busy machine may refuse the first requests.
    const search = `http://127.0.0.1:${port}/api/search?q=martillo`
    t.ok(await eventually(() => isOk(search), Boolean, patienceMs), output())
    // To the process that was started: nothing stands between it and the program.
    for (const { child } of programs) child.kill(signal)
    t.same(await Promise.all(programs.map(({ exit }) => exit)), [0, 0], `${signal}: ${output()}`)
  }
}
