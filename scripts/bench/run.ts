// Runs the benchmarks, compares their results with the bars, and writes docs/benchmarks.md.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, UsageError } from '../cli/command.ts'
import { type Bench, type BenchRun, isMissed, root, runBench } from './harness.ts'
import { describeMachine, formatPage } from './page.ts'

const scenarios: Record<string, string> = {
  search: 'keystrokes, next to Meilisearch directly and to a route that only forwards them',
  widening: 'searches that no product matches, next to one direct request',
  stats: 'statistics computed and from the cache, folding, and what the triggers cost',
  links: 'quote links next to a route that sends the same bytes, PDFs, large quotes, 404s',
  import: 'lines a second of quotes and products',
  builds: 'building the search index and single changes, next to direct uploads',
  faults: 'failed answers while servers and programs are killed (needs HAProxy)',
  'csv-parser': 'our parser of CSV, next to csv-parse',
  relevance: 'how often a known product is found, next to Meilisearch’s default settings',
}

const help = `
Usage: node scripts/bench/run.ts [--small] [--page] [SCENARIO …]

Runs these benchmarks, or all of them, each on servers of its own in a temporary directory. Prints
each result with its bar. Exits with 1 if a bar is missed. Ratios compare values of one run and are
valid on any machine; absolute times are valid on an idle one.

${Object.entries(scenarios)
  .map(([name, what]) => `  ${name.padEnd(11)} ${what}`)
  .join('\n')}

  --small  little data: shows that everything works. No bar counts
  --page   write docs/benchmarks.md; needs all scenarios
`

const options = { small: { type: 'boolean' }, page: { type: 'boolean' } } as const

await runCommand(help, options, async ({ small = false, page = false }, given) => {
  const names = given.length > 0 ? given : Object.keys(scenarios)
  const unknown = names.find((name) => !(name in scenarios))
  if (unknown !== undefined) throw new UsageError(`There is no scenario ${unknown}.`)
  if (page && (small || given.length > 0)) throw new UsageError('--page needs all scenarios.')
  const machine = describeMachine()
  const runs = new Map<string, BenchRun>()
  for (const name of names) {
    console.log(`${name}: ${scenarios[name]}`)
    const { measure } = (await import(`./${name}.ts`)) as {
      measure(bench: Bench): Promise<void>
    }
    runs.set(name, await runBench(measure, small))
  }
  if (page) writeFileSync(join(root, 'docs/benchmarks.md'), formatPage(machine, runs))
  const missed = [...runs.values()].flatMap(({ measured }) => measured.filter(isMissed))
  if (!small) console.log(`${missed.length} bars missed`)
  return missed.length === 0 ? 0 : 1
})
