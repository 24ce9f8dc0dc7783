// Runs test files with tap, several at a time, each in a process of its own, and writes TAP.
// Does what `tap run` does, without the module loaders that `tap run` puts into each process: they
// cost 0.7 s of processor time for each file. tap also adds to NODE_OPTIONS, with which each
// process, and each program that a test starts, records its coverage: the import of the demo's data
// took four times as long. `env` restores the options that this process was given.
import t from 'tap'

const [jobs, ...files] = process.argv.slice(2)
/** Files that count failed answers under load. They run first, while nothing else does. */
const filesAlone = ['test/cluster/faults.cluster.ts']
/** A file that takes longer hangs. */
const fileTimeoutSeconds = 300

const nodeOptions = `NODE_OPTIONS=${process.env.NODE_OPTIONS ?? ''}`
t.jobs = Number(jobs)
t.setTimeout(0)
const inOrder = files.toSorted(
  (one, other) => Number(filesAlone.includes(other)) - Number(filesAlone.includes(one)),
)
for (const file of inOrder) {
  const options = {
    // tap runs a file beside others only if it keeps its output until the end.
    buffered: !filesAlone.includes(file),
    timeout: fileTimeoutSeconds * 1_000,
    env: { ...process.env, TAP_TIMEOUT: String(fileTimeoutSeconds) },
    stdio: ['ignore', 'pipe', 'inherit'],
  }
  t.spawn(
    'env',
    [nodeOptions, process.execPath, file],
    options as Parameters<typeof t.spawn>[2],
    file,
  )
}
