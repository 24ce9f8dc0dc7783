// What each fault did to the answers: one row of the printed table.
import { writeFileSync } from 'node:fs'
import type { LoadResult } from '../../scripts/bench/support/fixed-rate-load.ts'
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
}

export function describeFault(fault: string, results: LoadResult[], recoveryMs: number): FaultRow {
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
  }
}

/** Returns the table as Markdown. */
function formatTable(rows: FaultRow[]): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const cells = rows.map(({ fault, sent, failed, ...times }) => [
    fault,
    `${routes.reduce((sum, route) => sum + failed[route], 0)} of ${sent}`,
    ...routes.map((route) => String(failed[route])),
    failed.links === 0 ? '–' : seconds(times.failedLinksMs),
    `${Math.round(times.p50Ms)} ms`,
    seconds(times.slowestMs),
    seconds(times.recoveryMs),
  ])
  const head = [
    ...['fault', 'failed answers', ...routes, 'links failed for'],
    ...['median', 'slowest', 'whole again after'],
  ]
  const lines = [head, head.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |`)
  return lines.join('\n')
}

/** Prints the table, and writes it to the file that CLUSTER_REPORT names, if any. */
export function publishTable(rows: FaultRow[]): void {
  const table = formatTable(rows)
  // The standard output of a test is TAP.
  process.stderr.write(`\n${table}\n\n`)
  const file = process.env.CLUSTER_REPORT
  if (file) writeFileSync(file, `${table}\n`)
}
