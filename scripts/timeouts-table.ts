// Generates docs/timeouts.md from the waiting times in src/timeouts/.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { maxQueuedSearches, maxRunningSearches } from '../src/overload/concurrency-limit.ts'
import type { WaitingTime } from '../src/timeouts/waiting-time.ts'
import { timeouts } from '../src/timeouts.ts'
import { runCommand } from './cli/command.ts'

const help = `
Usage: node scripts/timeouts-table.ts [--check]

Writes docs/timeouts.md: one table for each section of src/timeouts.ts.

  --check   write nothing, and exit with status 1 if the document is out of date
`

const documentFile = join(import.meta.dirname, '../docs/timeouts.md')

const titles: Record<keyof typeof timeouts, string> = {
  process: 'Process',
  http: 'HTTP',
  auth: 'API keys and origins',
  rateLimits: 'Rate limits',
  overload: 'Overload',
  database: 'PostgreSQL',
  redis: 'Redis',
  searchEngine: 'Search engine client',
  search: 'Search',
  searchReport: 'What people search for',
  indexing: 'Indexing',
  stats: 'Statistics',
  quotes: 'Quotes',
  monitoring: 'Monitoring',
}

const introduction = `# Waiting times

Generated from [src/timeouts/](../src/timeouts) by \`node scripts/timeouts-table.ts\`. Do not edit
this file.

Every wait of a request ends. If a server does not respond in time, the caller gets a 503 problem
with \`Retry-After\`, or a response from a fallback, and the connection to the silent server is
closed. Only a new index waits without a limit, for older transactions. Browser code and scripts
keep their waiting times in their own files.

Sizes are limited too: 16 kB for the head and the address of a request (431), 512 bytes for the
searched text, 10,000 cached API keys, 10,000 callers in the counts of the rate limits, and
${maxRunningSearches} running searches with ${maxQueuedSearches} in the queue.
`

/** Returns the whole text of docs/timeouts.md. */
export function timeoutsDocument(): string {
  const sections = Object.entries(timeouts as Record<string, Record<string, WaitingTime>>)
  const tables = sections
    .filter(([, entries]) => Object.keys(entries).length > 0)
    .map(([section, entries]) => sectionTable(section as keyof typeof timeouts, entries))
  return [introduction, ...tables].join('\n')
}

function sectionTable(
  section: keyof typeof timeouts,
  entries: Record<string, WaitingTime>,
): string {
  const rows = Object.entries(entries).map(
    ([name, { ms, what, why, afterwards }]) =>
      `| \`${section}.${name}\` | ${duration(ms)} | ${what} | ${why} | ${afterwards} |`,
  )
  return [
    `## ${titles[section]}`,
    '',
    '| name | time | what waits | why | afterwards |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

function duration(ms: number): string {
  if (ms > 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms > 0 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`
}

if (import.meta.main) {
  await runCommand(help, { check: { type: 'boolean', default: false } }, async ({ check }) => {
    const generated = timeoutsDocument()
    if (!check) {
      writeFileSync(documentFile, generated)
      return 0
    }
    if (readFileSync(documentFile, 'utf8') === generated) return 0
    console.error('docs/timeouts.md is out of date: run `node scripts/timeouts-table.ts`.')
    return 1
  })
}
