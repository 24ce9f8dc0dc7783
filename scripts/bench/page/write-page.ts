// Writes docs/benchmarks.md from the measurements of one run.
import type { Circumstances } from './machine.ts'
import type { Rates, Row } from './measurements.ts'

export type Page = {
  circumstances: Circumstances
  /** What the database held. */
  data: string
  rates: Rates
  rows: Row[]
  /** The tables of the cluster test as Markdown, or null if it did not run. */
  faults: string | null
}

/** Returns the page as Markdown. */
export function formatPage({ circumstances, data, rates, rows, faults }: Page): string {
  const { commit, date, machine, versions, loadBefore } = circumstances
  return `# Benchmarks

Written by \`make benchmarks\`, in one run on one machine. Nobody has edited the numbers. The rules
are those of [ClickBench](https://github.com/ClickHouse/ClickBench#readme): one command repeats
everything, nothing is tuned for these requests, and where the set-up differs from production,
[the limitations](#limitations) say so.

| | |
| --- | --- |
| commit | ${commit} |
| date | ${date} |
| machine | ${machine} |
| load average before | ${loadBefore} |
| versions | ${versions} |
| data | ${data} |

## Times of answers

One API process. ${rates.perSecond} requests a second by the clock, whether or not earlier ones
have been answered. Each time is counted from the moment when its request was due, so a stall cannot
hide (no coordinated omission). ${rates.warmUpSeconds} s of warm-up, then ${
    rates.seconds
  } s that count. In milliseconds.

${formatRows(rows)}

The first two rows are baselines: a route that does nothing but send bytes, and the search engine
without the service in front of it.

## Faults

${faults === null ? 'Not measured in this run.' : formatFaults(faults)}

## Limitations

- Load generator, service, PostgreSQL, Meilisearch and Redis share the machine, and so does
  everything in the cluster test. On machines of their own each would be faster.
- Different from production: PostgreSQL does not wait for the disk (\`fsync\` is off; for the
  times of answers \`synchronous_commit\` and \`full_page_writes\` are off too), and the caller
  has a key without rate limits. In the cluster test the default limits hold, but load shedding
  is off.
- Outages are crashed and stopped processes. A machine that disappears without a reset is tested in
  \`test/cluster/failover.cluster.ts\`, and costs seconds instead of these times.
- The rate is far below the limit. It shows how long answers take, not how many are possible.
- With ${rates.perSecond * rates.seconds} requests in a row, p99 rests on ${Math.round(
    (rates.perSecond * rates.seconds) / 100,
  )} answers, and the maximum on one.
- A search that the engine does not answer within 300 ms is answered by PostgreSQL and counts as
  answered.
- The data is generated. No network lies between the client and the service.

## Repeat it

\`\`\`sh
make benchmarks
\`\`\`

It needs HAProxy and Redis, five minutes and a machine that does nothing else, and replaces this
page. \`node scripts/bench/page.ts --help\` lists its options.
`
}

function formatRows(rows: Row[]): string {
  const lines = rows.map(({ what, sent, failed, ...times }) => {
    const cells = [times.p50, times.p95, times.p99, times.max].map((ms) => ms.toFixed(1))
    return `| ${[what, sent, failed, ...cells].join(' | ')} |`
  })
  return [
    '| what | requests | failed | p50 | p95 | p99 | max |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
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
