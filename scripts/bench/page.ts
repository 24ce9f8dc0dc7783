// Writes docs/benchmarks.md from the results of one run.
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { type BenchRun, formatBar, formatValue, isMissed, quantile } from './harness.ts'

type Machine = Record<'commit' | 'date' | 'machine' | 'loadBefore', string>

/** Call it before the measurements: the load average is that of the minutes before. */
export function describeMachine(): Machine {
  const git = (...words: string[]) => execFileSync('git', words, { encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  const [first] = cpus()
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return {
    commit: git('rev-parse', '--short=10', 'HEAD') + (isChanged ? ', with changes' : ''),
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${first?.model.trim()}, ${memoryGb} GB, ${type()} ${release()}`,
    loadBefore: loadavg()[0]?.toFixed(1) ?? '',
  }
}

/** Returns the page as Markdown. */
export function formatPage(machine: Machine, runs: Map<string, BenchRun>): string {
  const all = [...runs.values()]
  const faults = all.map((run) => run.faults ?? '').join('')
  return `# Benchmarks

Written by \`make benchmarks\`, in one run on one machine. Nobody has edited the numbers. The rules
are those of [ClickBench](https://github.com/ClickHouse/ClickBench#readme): one command repeats
everything, nothing is tuned for these requests, and where the set-up differs from production,
[the limitations](#limitations) say so.

| | |
| --- | --- |
| commit | ${machine.commit} |
| date | ${machine.date} |
| machine | ${machine.machine}, Node ${process.versions.node} |
| load average before | ${machine.loadBefore} |

## Results and bars

A ratio (×) compares two measurements of this run, so it holds on any machine. Each has a file in
\`scripts/bench/\`.

| scenario | what | measured | bar | |
| --- | --- | --- | --- | --- |
${formatResults(runs)}

## Times of answers

One API process, 50 requests a second, after a warm-up. In milliseconds.

| what | requests | failed | p50 | p95 | p99 | max |
| --- | --- | --- | --- | --- | --- | --- |
${all.flatMap(({ times }) => times.map(formatTimes)).join('\n')}

Two rows are baselines: a route that does nothing but send bytes, and the search engine without the
service in front of it.

## Faults

${formatFaults(faults)}

## Limitations

- Load generator, service, PostgreSQL, Meilisearch and Redis share the machine, and so does
  everything in the cluster test. On machines of their own each would be faster.
- Different from production: PostgreSQL does not wait for the disk (\`fsync\` is off; outside the
  cluster test \`synchronous_commit\` and \`full_page_writes\` are off too), and the caller has a key
  without rate limits. In the cluster test the default limits hold, but load shedding is off.
- Outages are crashed and stopped processes. A machine that disappears without a reset is tested in
  \`test/cluster/failover.cluster.ts\`, and costs seconds instead of these times.
- The rate is far below the limit. It shows how long answers take, not how many are possible.
- With 375 requests in a row, p99 rests on four answers, and the maximum on one.
- A search that the engine does not answer within 300 ms is answered by PostgreSQL and counts as
  answered.
- The data is generated. No network lies between the client and the service.

## Repeat it

\`\`\`sh
make benchmarks
\`\`\`

It needs HAProxy, Redis and a machine that does nothing else, and replaces this page.
\`node scripts/bench/run.ts --help\` lists the scenarios. It exits with 1 if a bar is missed.
`
}

function formatResults(runs: Map<string, BenchRun>): string {
  const rows = [...runs].flatMap(([scenario, { measured }]) =>
    measured.map((one) => {
      const { what, bar, detail } = one
      const value = formatValue(one) + (detail ? ` (${detail})` : '')
      const verdict = bar ? (isMissed(one) ? '**missed**' : 'met') : ''
      return `| ${[scenario, what, value, bar ? formatBar(bar) : '', verdict].join(' | ')} |`
    }),
  )
  return rows.join('\n')
}

function formatTimes({ what, requests, failed, times }: BenchRun['times'][number]): string {
  const ms = [0.5, 0.95, 0.99, 1].map((share) => quantile(times, share).toFixed(1))
  return `| ${[what, requests, failed, ...ms].join(' | ')} |`
}

const formatFaults = (table: string) => `\`make cluster-test\`: three API processes behind HAProxy
([its file](../deploy/proxy/haproxy-several.cfg)), two PostgreSQL servers with streaming
replication, Redis with three Sentinels and then a Redis Cluster of six nodes, two Meilisearch
engines, three indexers. 30 requests a second by the clock over search, statistics and quote links,
while products and quotes are written. A request has failed if its answer is not 200.

${table}

- *Whole again*: from the fault until both indexes and the figures are as PostgreSQL says, and all
  three processes answer so. Without a fault that takes as long as in the first row. It includes the
  time for which the killed process stays away: 2 s, or 1 s until PostgreSQL is promoted.
- *Links failed for*: between the first and the last failed one. Quote links need PostgreSQL. While
  it is away, the first ones wait for up to five seconds and fail, and later ones fail at once. The
  bar for that row is the 12 s of the outage and two seconds more; for the other rows of PostgreSQL
  it is two seconds, and otherwise none.
- *Loses commits*: replication is cut, changes are committed and found, and then the primary dies.`
