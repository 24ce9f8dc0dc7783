// Checks the GitHub workflow: it runs what .ci/run runs, on the servers of docker-compose.yml.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
type Step = { run?: string; uses?: string; with?: Record<string, unknown> }
type Job = { steps: Step[]; services?: Record<string, { image: string }> }

const { permissions, jobs } = parse(read('.github/workflows/ci.yml')) as {
  permissions: object
  jobs: Record<string, Job>
}

t.test('runs the same make targets as .ci/run', async (t) => {
  const targets = (text: string) =>
    [...text.matchAll(/^\s*(?:output=.*)?(?:[A-Z_]+=\S+ )?make ((?:[a-z-]+ ?)+)/gm)].flatMap(
      ([, words = '']) => words.trim().split(' '),
    )
  const expected = targets(read('.ci/run').replaceAll('|| status=1', ''))
  const actual = targets((jobs.check?.steps ?? []).map(({ run }) => run ?? '').join('\n'))
  t.same(actual, [
    'lint',
    'types',
    'test',
    'local-test',
    'browser-test',
    'cluster-test',
    'operations-test',
  ])
  t.same(expected, actual)
})

t.test('uses the images of docker-compose.yml', async (t) => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string }>
  }
  for (const [name, { image }] of Object.entries(jobs.check?.services ?? {}))
    t.equal(image, services[name]?.image, name)
  t.same(Object.keys(jobs.check?.services ?? {}), ['postgres', 'redis', 'meilisearch'])
})

t.test('has read permission only, and runs actions as they were reviewed', async (t) => {
  t.same(permissions, { contents: 'read' })
  for (const [name, job] of Object.entries(jobs)) {
    t.notOk('permissions' in job, `${name} has no more rights`)
    for (const step of job.steps) {
      if (step.uses !== undefined) t.match(step.uses, /^actions\/[\w-]+@[0-9a-f]{40}$/, 'a commit')
      if (step.uses?.startsWith('actions/checkout'))
        t.equal(step.with?.['persist-credentials'], false)
    }
  }
})
