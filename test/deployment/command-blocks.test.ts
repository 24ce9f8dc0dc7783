// Every block of commands in the docs for operators is executed by a test, or listed with a reason.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const containers = 'test/containers/runbook.containers.ts'
const units = 'test/operations/systemd.operations.ts'
const restore = 'test/operations/restore.operations.ts'
const rotation = 'test/operations/rotation.operations.ts'
const replication = 'test/stats/summary/logical-replication.cluster.ts'
const chart = 'test/operations/helm-chart.operations.ts'
const cluster = 'it needs a cluster'
const asRoot = 'it changes the machine: packages, accounts and services'

/** A file that executes the block, or why none does. */
type Block = { tests: string[] } | { why: string }

/** The blocks of each chapter, in their order. */
const chapters: Record<string, Record<string, Block[]>> = {
  'docs/operations/runbook.md': {
    'PostgreSQL with a replica that takes over': [
      { tests: ['test/database/durable-revocations.cluster.ts'] },
    ],
    'Two API processes with docker compose': [{ tests: [containers] }],
    Upgrade: [{ tests: [containers] }, { tests: [containers] }],
    'Back up and restore': [
      { tests: [restore, containers] },
      { tests: [restore, containers] },
      { tests: [containers] },
      { tests: [restore, containers] },
      { tests: [restore, containers] },
      { tests: [containers] },
    ],
    'Logical replication': [{ tests: [replication] }, { tests: [replication] }],
    'Rotate keys': [
      { tests: [rotation, containers] },
      { tests: [rotation, containers] },
      { tests: [rotation, containers] },
    ],
    'Rebuild the index': [{ tests: [containers] }],
    'A second search engine': [
      { tests: [containers] },
      { tests: ['test/indexing/engine/second-engine.cluster.ts'] },
    ],
    'Remove an engine': [{ tests: ['test/indexing/engine/second-engine.cluster.ts'] }],
    'Check the statistics': [{ tests: [containers] }],
    Traces: [{ tests: ['test/containers/image.containers.ts', 'test/tracing/traces.test.ts'] }],
  },
  'docs/operations/without-containers.md': {
    Code: [{ why: asRoot }],
    'Settings and company': [{ why: 'test/operations/systemd.operations.ts uses the same .env' }],
    Databases: [{ why: asRoot }, { why: asRoot }, { why: asRoot }],
    Services: [{ why: `${asRoot}; ${units} starts the commands of the units` }, { tests: [units] }],
    'TLS and the proxy': [{ why: 'proxies.operations.ts starts the same files with other ports' }],
    'Keys and the first import': [{ why: 'each script has tests; the container test runs them' }],
    Upgrade: [{ why: asRoot }],
  },
  'docs/operations/kubernetes.md': {
    Install: [{ why: `${cluster}; ${chart} renders the chart` }],
    Upgrade: [{ why: `${cluster}; ${chart} renders it with another tag of the API` }],
  },
  'docs/operations/container-test.md': {
    '# The container test': [{ why: 'they start the container test itself' }],
  },
}

/** Returns how many blocks of commands each chapter of a file has. */
function countBlocks(file: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const chapter of readFileSync(join(root, file), 'utf8').split(/\n#+ (?=[A-Z])/)) {
    const heading = chapter.slice(0, chapter.indexOf('\n'))
    const blocks = chapter.match(/^```(sh|sql|dockerfile)$/gm)
    if (blocks) counts[heading] = blocks.length
  }
  return counts
}

for (const [file, listed] of Object.entries(chapters))
  t.test(`${file}: every block of commands is executed by a test or listed`, async (t) => {
    const expected = Object.entries(listed).map(([heading, blocks]) => [heading, blocks.length])
    t.same(countBlocks(file), Object.fromEntries(expected), 'a new block belongs into this list')
    for (const [heading, blocks] of Object.entries(listed))
      for (const test of blocks.flatMap((block) => ('tests' in block ? block.tests : []))) {
        t.ok(existsSync(join(root, test)), test)
        const text = readFileSync(join(root, test), 'utf8')
        t.match(text, basename(file, '.md'), `${test} reads the block of "${heading}"`)
      }
  })
