// Stops runs of scripts/test.ts: none of their processes and files may remain.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { identifyProcess, isAlive } from '../../scripts/servers/process-identity.ts'
import { eventually } from '../support/eventually.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const startTimeoutMs = 60_000

t.test('a run that is stopped while it tests leaves nothing behind', async (t) => {
  const { run, reportFile, findDirectory } = startTestRun(t)
  await eventually(async () => existsSync(reportFile), Boolean, startTimeoutMs)
  const directory = await findDirectory()
  const processes = findProcesses(reportFile, directory)
  t.ok(processes.length >= 8 && processes.every(isAlive), 'runner, test and what they started')

  run.kill('SIGTERM')
  t.equal(await exitStatus(run), 143)
  t.same(processes.filter(isAlive), [], 'every process has ended')
  t.notOk(existsSync(directory), 'the directory is deleted')
})

t.test('a run that is stopped while its servers start leaves nothing behind', async (t) => {
  const { run, findDirectory } = startTestRun(t)
  const directory = await findDirectory()
  const processes = serverPidsBelow(directory).map(identifyProcess)

  run.kill('SIGINT')
  t.equal(await exitStatus(run), 130)
  t.same(processes.filter(isAlive), [], 'every process has ended')
  t.notOk(existsSync(directory), 'the directory is deleted')
})

t.test('a run that is stopped while it bundles libraries leaves nothing behind', async (t) => {
  const { run, findDirectory } = startTestRun(t)
  const directory = await findDirectory()
  // The run makes this directory first. What it compiles there takes longer than a poll.
  const libraries = join(directory, 'libraries')
  t.ok(await eventually(async () => existsSync(libraries), Boolean, startTimeoutMs))

  run.kill('SIGTERM')
  t.equal(await exitStatus(run), 143)
  t.notOk(existsSync(directory), 'the directory is deleted')
})

t.test('a run that is killed leaves no process behind', async (t) => {
  const { run, reportFile, findDirectory } = startTestRun(t)
  await eventually(async () => existsSync(reportFile), Boolean, startTimeoutMs)
  const directory = await findDirectory()
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
  const processes = findProcesses(reportFile, directory)
  t.ok(processes.length >= 8 && processes.every(isAlive), 'runner, test and what they started')

  run.kill('SIGKILL')
  const remaining = await eventually(
    async () => processes.filter(isAlive),
    (alive) => alive.length === 0,
    startTimeoutMs,
  )
  t.same(remaining, [], 'every process has ended')
})

t.test('a run deletes the directory of a killed run, and not that of a running one', async (t) => {
  const [running, killed] = [startTestRun(t), startTestRun(t)]
  const kept = await running.findDirectory()
  const abandoned = await killed.findDirectory()
  killed.run.kill('SIGKILL')
  await exitStatus(killed.run)
  t.ok(existsSync(abandoned), 'a killed run deletes nothing')

  const next = startTestRun(t)
  const own = await next.findDirectory()
  t.notOk(existsSync(abandoned), 'the next run deletes it')
  t.ok(existsSync(kept) && running.run.exitCode === null)
  for (const { run } of [running, next]) {
    run.kill('SIGTERM')
    t.equal(await exitStatus(run), 143)
  }
  t.notOk(existsSync(kept) || existsSync(own))
})

/** The runner and the test, what the test has started, and the servers of the run. */
function findProcesses(reportFile: string, directory: string) {
  const testPids: number[] = JSON.parse(readFileSync(reportFile, 'utf8'))
  return [...testPids, ...serverPidsBelow(directory)].map(identifyProcess)
}

/** Runs the hanging test. Its environment has no TAP settings and names no servers. */
function startTestRun(t: Test) {
  const reportDirectory = mkdtempSync(join(tmpdir(), 'tqs-stop-'))
  t.teardown(() => rmSync(reportDirectory, { recursive: true, force: true }))
  const reportFile = join(reportDirectory, 'pids.json')
  const run = spawn(process.execPath, ['scripts/test.ts', 'test/scripts/hanging-test.ts'], {
    cwd: root,
    env: { PATH: process.env.PATH, HANGING_TEST_REPORT: reportFile },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => run.kill('SIGKILL'))
  let output = ''
  run.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  /** Resolves with the directory of the run when PostgreSQL starts there. */
  const findDirectory = async () => {
    const line = /^creating a database cluster in (.+)$/m
    const text = await eventually(
      async () => output,
      (text) => line.test(text),
      startTimeoutMs,
    )
    const cluster = line.exec(text)?.[1]
    if (cluster === undefined) throw new Error(`The run has started no PostgreSQL: ${text}`)
    return dirname(cluster)
  }
  return { run, reportFile, findDirectory }
}

function serverPidsBelow(directory: string): number[] {
  return globSync('**/running.json', { cwd: directory }).map(
    (file) => JSON.parse(readFileSync(join(directory, file), 'utf8')).server.pid,
  )
}

async function exitStatus(run: ChildProcess): Promise<number | null> {
  if (run.exitCode === null && run.signalCode === null) await once(run, 'exit')
  return run.exitCode
}
