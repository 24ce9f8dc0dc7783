// Checks the GitHub workflow: it runs what .ci/run runs, on the servers of docker-compose.yml.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
type Job = {
  services?: Record<string, { image: string }>
  'continue-on-error'?: boolean
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[]
}
const { jobs, permissions } = parse(read('.github/workflows/ci.yml')) as {
  jobs: Record<string, Job>
  permissions: object
}

t.test('runs the same make targets as .ci/run', async (t) => {
  const targets = (text: string) =>
    [...text.matchAll(/^\s*(?:output=.*)?(?:[A-Z_]+=\S+ )?make ((?:[a-z-]+ ?)+)/gm)].flatMap(
      ([, words = '']) => words.trim().split(' '),
    )
  const expected = targets(read('.ci/run').replaceAll('|| status=1', ''))
  const actual = targets((jobs.check?.steps ?? []).map(({ run }) => run ?? '').join('\n'))
  t.same(actual, ['lint', 'types', 'test', 'browser-test', 'cluster-test', 'operations-test'])
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

t.test('has read permission only, and the audit does not block', async (t) => {
  t.same(permissions, { contents: 'read' })
  t.equal(jobs.audit?.['continue-on-error'], true)
  t.notOk(JSON.stringify(jobs.check).includes('npm audit'))
  for (const step of Object.values(jobs).flatMap(({ steps }) => steps)) {
    if (step.uses?.startsWith('actions/checkout'))
      t.equal(step.with?.['persist-credentials'], false)
  }
})
