// What `make test` promises: it counts every failure, and a stopped or killed run leaves nothing.
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { identifyProcess, isAlive } from '../../scripts/servers/previous-run.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
/** Servers start in it, on a busy machine. */
const startLimitMs = 60_000

t.test('every failure is counted and names its file', async (t) => {
  const { databaseUrl, redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const run = startTestRun(
    t,
    {
      passes: "t.test('first', async (t) => t.equal(1, 1))",
      fails: "t.test('second', async (t) => t.equal(1, 2, 'is wrong'))",
      throws: "setTimeout(() => { throw new Error('too late') }, 1); await sleep(100); t.pass()",
      empty: '',
      exits: "t.test('ends', async () => process.exit(0))",
      last: "t.equal(1, 1, 'runs')",
    },
    {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      MEILI_URL: meiliUrls[0],
      MEILI_MASTER_KEY: meiliMasterKey,
    },
  )
  t.equal(await run.exit, 1)
  const output = run.output()
  t.match(output, /^ok {5}\S+\/passes\.test\.ts/m)
  t.match(output, /^not ok: \S+\/fails\.test\.ts > second > is wrong$/m)
  t.match(output, /^FAILED \S+\/fails\.test\.ts/m)
  t.match(output, /^not ok: \S+\/throws\.test\.ts > too late$/m)
  t.match(output, /^not ok: no test ran in \S+\/empty\.test\.ts/m)
  t.match(output, /^FAILED \S+\/exits\.test\.ts/m)
  t.match(output, /^ok {5}\S+\/last\.test\.ts/m)
  t.match(output, /^\d+ passed, [1-9]\d* failed$/m)
})

t.test('a stopped run ends everything, and deletes its directory', async (t) => {
  const run = startTestRun(t, { hangs: hangingTest })
  const { directory, processes } = await findStarted(run)
  t.ok(processes.length >= 4 && processes.every(isAlive), 'the test and the servers')
  run.child.kill('SIGTERM')
  t.equal(await run.exit, 143, run.output())
  t.same(processes.filter(isAlive), [])
  t.notOk(existsSync(directory))
})

t.test('the next run deletes the directory of a killed one, and no other', async (t) => {
  const [kept, killed] = [
    startTestRun(t, { hangs: hangingTest }),
    startTestRun(t, { hangs: hangingTest }),
  ]
  const { directory, processes } = await findStarted(killed)
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const remaining = await eventually(
    async () => processes.filter(isAlive),
    (alive) => alive.length === 0,
    startLimitMs,
  )
  t.same(remaining, [], 'every process has ended')

  const next = startTestRun(t, { passes: 't.pass()' })
  t.equal(await next.exit, 0, next.output())
  t.notOk(existsSync(directory))
  t.ok(existsSync((await findStarted(kept)).directory))
  kept.child.kill('SIGINT')
  t.equal(await kept.exit, 130)
})

/** Writes its pid beside it, and never ends by itself. */
const hangingTest = `
  import { writeFileSync } from 'node:fs'
  t.test('hangs', async () => {
    writeFileSync(import.meta.filename + '.pid', String(process.pid))
    await new Promise(() => setInterval(() => undefined, 1_000))
  })`

/** Runs files with these contents. Without servers in its environment, the run starts its own. */
function startTestRun(t: Test, contents: Record<string, string>, env: NodeJS.Dict<string> = {}) {
  const directory = createTemporaryDirectory(t, 'test-run')
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const files = Object.entries(contents).map(([name, content]) => {
    const file = join(directory, `${name}.test.ts`)
    const sleep = "import { setTimeout as sleep } from 'node:timers/promises'"
    writeFileSync(file, `import t from 'tap'\n${sleep}\nvoid sleep\n${content}\n`)
    return file
  })
  const program = startProgram(t, ['scripts/test.ts', ...files], { PATH: process.env.PATH, ...env })
  return { ...program, pidFile: `${files[0]}.pid` }
}

/** Waits until the hanging test runs. Returns the directory of the run, and what runs. */
async function findStarted(run: ReturnType<typeof startTestRun>) {
  await eventually(async () => existsSync(run.pidFile), Boolean, startLimitMs)
  const [, cluster = ''] = /^creating a database cluster in (.+)$/m.exec(run.output()) ?? []
  const directory = dirname(cluster)
  const serverPids = globSync('*/running.json', { cwd: directory }).map(
    (file) => JSON.parse(readFileSync(join(directory, file), 'utf8')).server.pid as number,
  )
  const pids = [Number(readFileSync(run.pidFile, 'utf8')), ...serverPids]
  return { directory, processes: pids.map(identifyProcess) }
}
