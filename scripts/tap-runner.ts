// Runs test files with tap, several processes at a time, and writes TAP. Files that take long have
// a process of their own. The others share processes. tap writes the results in the order in which
// the processes started, so a line for each file goes to standard error as soon as it has ended.
// Does what `tap run` does, without the module loaders that `tap run` puts into each process: they
// cost 0.7 s of processor time for each file. tap also adds options to NODE_OPTIONS that make each
// process, and each program that a test starts, record coverage. With them the import of the demo's
// data took four times as long. `env` restores the original options.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { groupByProcess, sharedProcess } from './test-file-order.ts'

const [jobs, ...files] = process.argv.slice(2)
/** Files that count failed answers under load. They run first, while nothing else does. */
const filesAlone = ['test/cluster/faults.cluster.ts']
/** Seconds after which a test file is ended, because it hangs. The time limit is in .taprc. */
const { timeout: fileTimeoutSeconds } = parse(
  readFileSync(join(import.meta.dirname, '../.taprc'), 'utf8'),
) as { timeout: number }

type EndedFile = { ok: boolean; name: string; time?: number | null }

/** Prints the result of a file. `time` is in milliseconds. */
function printFile({ ok, name, time }: EndedFile): void {
  const seconds = time ? `  ${(time / 1_000).toFixed(1)} s` : ''
  process.stderr.write(`${ok ? 'ok    ' : 'FAILED'} ${name}${seconds}\n`)
}

/** Prints the result of each file as soon as it is known. */
function printFilesAsTheyEnd(): void {
  t.on('subtestStart', ({ name, parser }) => {
    // The tests of a process that several files share are these files.
    if (name.startsWith(sharedProcess)) parser.on('assert', printFile)
  })
  t.on('subtestEnd', (subtest) => {
    const ok = subtest.passing()
    // The files of a shared process were printed one by one.
    if (!ok || !subtest.name.startsWith(sharedProcess))
      printFile({ ok, name: subtest.name, time: subtest.time })
  })
}

const untrackedPromises = join(import.meta.dirname, 'untracked-promises.ts')
const nodeOptions = `NODE_OPTIONS=${process.env.NODE_OPTIONS ?? ''}`
t.setTimeout(0)
printFilesAsTheyEnd()
const inOrder = files.toSorted(
  (one, other) => Number(filesAlone.includes(other)) - Number(filesAlone.includes(one)),
)
const { groups, processes } = groupByProcess(inOrder, Number(jobs))
t.jobs = processes
for (const group of groups) {
  const [file = ''] = group
  const isShared = group.length > 1
  const options = {
    // tap runs a process beside others only if it keeps its output until the end.
    buffered: !filesAlone.includes(file),
    timeout: group.length * fileTimeoutSeconds * 1_000,
    env: { ...process.env, TAP_TIMEOUT: String(fileTimeoutSeconds) },
    stdio: ['ignore', 'pipe', 'inherit'],
  }
  const words = isShared
    ? [join(import.meta.dirname, 'tap-files.ts'), String(fileTimeoutSeconds), ...group]
    : [file]
  t.spawn(
    'env',
    [nodeOptions, process.execPath, '--import', untrackedPromises, ...words],
    options as Parameters<typeof t.spawn>[2],
    isShared ? `${sharedProcess} from ${file}` : file,
  )
}
