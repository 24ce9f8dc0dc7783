// What each fault did to the answers: one row of each of the two printed tables.
import { writeFileSync } from 'node:fs'
import type { LoadResult } from './fixed-rate-load.ts'
import { type Route, routes } from './traffic.ts'

export type FaultRow = {
  fault: string
  sent: number
  failed: Record<Route, number>
  /** Between the first and the last failed answer of links, by when they were due. */
  failedLinksMs: number
  p50Ms: number
  slowestMs: number
  /** Until both indexes, the figures and all processes held everything again. */
  recoveryMs: number
  /** The answers that were due in each second since the fault. */
  seconds: Second[]
}

type Second = { failed: number; slowestMs: number }

/** Answers that are not slower are not worth a number in the second table. */
const noticedMs = 200

/** Describes the answers that were due after `from`, the time of the fault. */
export function describeFault(
  fault: string,
  results: LoadResult[],
  { from, recoveryMs }: { from: number; recoveryMs: number },
): FaultRow {
  const failed = results.filter(({ status }) => status !== 200)
  const countFailed = (route: Route) => failed.filter(({ kind }) => kind === route).length
  const dueTimes = failed.filter(({ kind }) => kind === 'links').map(({ dueAt }) => dueAt)
  const times = results.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    fault,
    sent: results.length,
    failed: {
      search: countFailed('search'),
      stats: countFailed('stats'),
      links: countFailed('links'),
    },
    failedLinksMs: dueTimes.length === 0 ? 0 : Math.max(...dueTimes) - Math.min(...dueTimes),
    p50Ms: times[Math.floor(times.length / 2)] ?? 0,
    slowestMs: times.at(-1) ?? 0,
    recoveryMs,
    seconds: describeSeconds(results, from),
  }
}

function describeSeconds(results: LoadResult[], from: number): Second[] {
  const seconds: Second[] = []
  for (const { dueAt, status, ms } of results) {
    const second = Math.floor((dueAt - from) / 1_000)
    while (seconds.length <= second) seconds.push({ failed: 0, slowestMs: 0 })
    const entry = seconds[second] as Second
    if (status !== 200) entry.failed += 1
    entry.slowestMs = Math.max(entry.slowestMs, ms)
  }
  return seconds
}

const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

/** Returns the table of all faults as Markdown. */
function formatTable(rows: FaultRow[]): string {
  const cells = rows.map(({ fault, sent, failed, ...times }) => [
    fault,
    `${routes.reduce((sum, route) => sum + failed[route], 0)} of ${sent}`,
    ...routes.map((route) => String(failed[route])),
    failed.links === 0 ? '–' : inSeconds(times.failedLinksMs),
    `${Math.round(times.p50Ms)} ms`,
    inSeconds(times.slowestMs),
    inSeconds(times.recoveryMs),
  ])
  const head = [
    ...['fault', 'failed answers', ...routes, 'links failed for'],
    ...['median', 'slowest', 'whole again after'],
  ]
  return formatMarkdown(head, cells)
}

/** Returns what happened in each second after each fault, as Markdown. */
function formatTimelines(rows: FaultRow[]): string {
  const length = Math.max(0, ...rows.map(({ seconds }) => seconds.length))
  const numbers = Array.from({ length }, (_, second) => second)
  const cells = rows.map(({ fault, seconds }) => [
    fault,
    ...numbers.map((second) => describeSecond(seconds[second])),
  ])
  const explanation =
    'Second by second after each fault: how many of the answers that were due then failed, and\n' +
    `the slowest of them. –: none failed, and none took longer than ${inSeconds(noticedMs)}.`
  return `${explanation}\n\n${formatMarkdown(['fault', ...numbers.map(String)], cells)}`
}

function describeSecond(second: Second | undefined): string {
  if (!second) return ''
  const { failed, slowestMs } = second
  if (failed > 0) return `${failed} failed, ${inSeconds(slowestMs)}`
  return slowestMs > noticedMs ? inSeconds(slowestMs) : '–'
}

function formatMarkdown(head: string[], cells: string[][]): string {
  const lines = [head, head.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |`)
  return lines.join('\n')
}

/** Prints both tables, and writes them to the file that CLUSTER_REPORT names, if any. */
export function publishTables(rows: FaultRow[]): void {
  const tables = `${formatTable(rows)}\n\n${formatTimelines(rows)}`
  // The standard output of a test is TAP.
  process.stderr.write(`\n${tables}\n\n`)
  const file = process.env.CLUSTER_REPORT
  if (file) writeFileSync(file, `${tables}\n`)
}
