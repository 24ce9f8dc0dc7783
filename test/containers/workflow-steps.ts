// What the container test does with each step of the forge's workflow. A command that is not listed
// here is executed as it stands.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export type Service = {
  image: string
  env?: Record<string, string>
  ports?: string[]
  options?: string
}
export type Step = {
  uses?: string
  run?: string
  name?: string
  shell?: string
  env?: Record<string, string>
  with?: Record<string, unknown>
  'continue-on-error'?: boolean
}
export type Job = {
  'runs-on': string
  'continue-on-error'?: boolean
  services?: Record<string, Service>
  env?: Record<string, string>
  steps: Step[]
}

const root = join(import.meta.dirname, '../..')

/** The jobs by name. */
export const { jobs } = parse(readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8')) as {
  jobs: Record<string, Job>
}

/** What stands in for the actions, which the forge downloads. */
export const standIns: Record<string, string> = {
  'actions/checkout': 'a shallow clone',
  'actions/setup-node': "Node and npm of the machine's image; no cache of npm",
}

/** Jobs whose commands the container test does not execute, and why. */
export const jobsElsewhere: Record<string, string> = {
  containers: 'the container test itself, on official images, which need a registry',
  audit: 'test/deployment/ci-workflow.test.ts executes it with a registry that has advisories',
}

/**
 * Commands that take minutes: make executes only these files, unless WORKFLOW=whole. The commands
 * themselves are executed as they stand.
 */
export const parts: Record<string, string[]> = {
  'make test': [
    // Not compose.test.ts: the PostgreSQL of Debian has another minor version.
    'test/deployment/{ci-workflow,command-blocks}.test.ts',
    'test/search/search.test.ts',
    'test/stats/stats.test.ts',
  ],
  'make local-test': ['test/scripts/bench-process.local.ts'],
  'FIREFOX_BIN=/usr/bin/firefox make browser-test': ['test/web/every-browser.browser.ts'],
  'make cluster-test': ['test/cluster/pgbouncer.cluster.ts'],
  'make operations-test': [
    'test/operations/{alert-rules,helm-chart,proxies,systemd}.operations.ts',
  ],
}

/** Returns the command of a step, or the name of its action without the version. */
export function describeStep({ uses, run }: Step): string {
  return run ?? uses?.replace(/@.*/, '') ?? ''
}

/** What the container test understands. It would ignore other keys. */
const knownKeys = {
  job: ['runs-on', 'timeout-minutes', 'services', 'env', 'steps'],
  service: ['image', 'env', 'ports', 'options'],
  step: ['run', 'name', 'shell', 'env'],
}

/** Returns the keys that the container test would ignore in the jobs whose steps it executes. */
function findUnknownKeys(jobs: [string, Job][]): string[] {
  return jobs.flatMap(([name, job]) => {
    const find = (kind: keyof typeof knownKeys, parts: object[]) =>
      parts
        .flatMap(Object.keys)
        .filter((key) => !knownKeys[kind].includes(key))
        .map((key) => `${name}: the container test ignores "${key}" of a ${kind}`)
    const commands = job.steps.filter(({ run }) => run !== undefined)
    return [
      ...find('job', [job]),
      ...find('service', Object.values(job.services ?? {})),
      ...find('step', commands),
    ]
  })
}

/**
 * Returns what is wrong with the lists of this file for these jobs: steps that are neither executed
 * nor listed, and entries that no step has any more.
 */
export function findUnlisted(jobs: Record<string, Job>): string[] {
  const steps = Object.entries(jobs).flatMap(([job, { steps }]) =>
    steps.map((step) => ({ job, step, text: describeStep(step) })),
  )
  const jobsHere = Object.entries(jobs).filter(([name]) => !(name in jobsElsewhere))
  const executed = steps.filter(({ job, step }) => !(job in jobsElsewhere) && step.run)
  const unknown = steps.filter(({ step, text }) => !step.run && !(text in standIns))
  const stale = [
    ...Object.keys(standIns).filter((name) => !steps.some(({ text }) => text === name)),
    ...Object.keys(jobsElsewhere).filter((name) => !(name in jobs)),
    ...Object.keys(parts).filter((name) => !executed.some(({ text }) => text === name)),
  ]
  return [
    ...unknown.map(({ job, text }) => `${job}: "${text}" is neither executed nor listed`),
    ...findUnknownKeys(jobsHere),
    ...stale.map((name) => `"${name}" is listed, but is not in the workflow`),
  ]
}
