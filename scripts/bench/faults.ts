// Runs the cluster test with its faults, and reports how many answers failed meanwhile.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, root } from './harness.ts'

/** Quote links need PostgreSQL, so their answers fail during this fault. */
const outage = 'PostgreSQL away for'

export async function measure(bench: Bench): Promise<void> {
  const report = join(bench.directory, 'faults.md')
  const test = spawn(
    process.execPath,
    [join(root, 'scripts/test.ts'), 'test/cluster/faults.cluster.ts'],
    { stdio: 'inherit', env: { ...process.env, CLUSTER_REPORT: report } },
  )
  const [status] = await once(test, 'exit')
  // The page must not show a run that broke a bar of the test.
  if (status !== 0) throw new Error('The cluster test failed.')
  const tables = readFileSync(report, 'utf8').trim()
  const rows = [...tables.matchAll(/^\| ([^|]+) \| (\d+) of (\d+) \|/gm)].filter(
    ([, fault]) => !fault?.startsWith(outage),
  )
  const sum = (place: number) => rows.reduce((total, row) => total + Number(row[place]), 0)
  bench.report({
    what: `answers that failed during all faults but “${outage} 12 s”`,
    value: sum(2) / sum(3),
    unit: 'share',
    bar: { atMost: 0.01 },
    detail: `${sum(2)} of ${sum(3)}`,
  })
  bench.reportFaults(tables)
}
