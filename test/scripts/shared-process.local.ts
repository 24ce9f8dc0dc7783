// Test files that share a process fail as if each had a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { findTestFiles, groupByProcess, putLongestFirst } from '../../scripts/test-file-order.ts'
import { servers } from '../support/database/test-database.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('each test file runs once, and the longest have a process of their own', async (t) => {
  const files = putLongestFirst(findTestFiles('test'))
  const { groups, processes } = groupByProcess(files, 3)
  t.same(groups.flat().sort(), files.toSorted())
  t.ok(groups.length < files.length / 3, `${groups.length} processes for ${files.length} files`)
  t.same(groups[1], ['test/database/migrations.test.ts'])
  t.equal(processes, 4, 'three that compute, and one that mostly waits')
  t.ok((groups[0]?.length ?? 0) > 5, 'files that mostly wait share a process')
  t.same(
    groupByProcess(['a.test.ts', 'b.test.ts', 'c.test.ts'], 3),
    { groups: [['a.test.ts'], ['b.test.ts'], ['c.test.ts']], processes: 3 },
    'a few files run at the same time',
  )
  t.same(groupByProcess(['a.cluster.ts', 'b.cluster.ts'], 1).groups, [
    ['a.cluster.ts'],
    ['b.cluster.ts'],
  ])
})

t.test('every failure is counted and names its file', async (t) => {
  const { status, output, progress } = await runFiles(t, {
    a: "t.test('first', async (t) => t.equal(1, 1))\nt.equal(t.name.slice(-9), 'a.test.ts')",
    b: "t.test('second', async (t) => t.equal(1, 2, 'is wrong'))",
    c: "setTimeout(() => { throw new Error('too late') }, 1)\nt.test(async () => timer(20))",
    d: '',
    e: "t.test('ends', async () => process.exit(0))",
    f: "t.equal(1, 1, 'never runs')",
  })
  t.equal(status, 1)
  t.match(progress, /^ok {5}\S+\/a\.test\.ts/m)
  t.match(output, /^not ok: .*b\.test\.ts > second > is wrong$/m)
  t.match(progress, /^FAILED \S+\/b\.test\.ts/m)
  t.match(output, /^not ok: .*c\.test\.ts > .*too late$/m)
  t.match(output, /^No test ran in \S+\/d\.test\.ts/m)
  t.match(output, /^not ok: .*e\.test\.ts > ends > test unfinished$/m)
  t.match(output, /^not ok: .*test count\(\d\) != plan\(2\)$/m)
  t.match(output, /^\d+ passed, [1-9]\d* failed$/m)
})

t.test('the line of a file is printed as soon as it has ended', async (t) => {
  const marker = "new URL('./ended', import.meta.url)"
  const { status, progress } = await runFiles(t, {
    a: `
      import { existsSync } from 'node:fs'
      while (!existsSync(${marker})) await timer(100)
      await timer(3_000)
      t.pass()`,
    b: `
      import { writeFileSync } from 'node:fs'
      t.pass()
      writeFileSync(${marker}, '')`,
  })
  t.equal(status, 0)
  t.match(progress, /^ok {5}\S+\/b\.test\.ts .*\nok {5}\S+\/a\.test\.ts .*\n/m)
})

/** Runs files with these contents on the servers of this test. */
async function runFiles(
  t: Test,
  contents: Record<string, string>,
): Promise<{ status: number; output: string; progress: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-shared-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const files = Object.entries(contents).map(([name, content]) => {
    const file = join(directory, `${name}.test.ts`)
    const timer = "import { setTimeout as timer } from 'node:timers/promises'"
    writeFileSync(file, `import t from 'tap'\n${timer}\nvoid timer\n${content}\n`)
    return file
  })
  const { databaseUrl, redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const run = spawn(process.execPath, ['scripts/test.ts', ...files], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      MEILI_URL: meiliUrls[0],
      MEILI_MASTER_KEY: meiliMasterKey,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, progress, [status]] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    once(run, 'exit'),
  ])
  return { output, progress, status }
}
