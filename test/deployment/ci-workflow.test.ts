// The workflow for a public forge runs what .ci/run runs, on the versions of docker-compose.yml, and its audit blocks nothing.
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

t.test('it makes what .ci/run makes', async (t) => {
  const targets = (text: string) =>
    [...text.matchAll(/^\s*(?:output=.*)?make ((?:[a-z]+ ?)+)/gm)].flatMap(([, words = '']) =>
      words.trim().split(' '),
    )
  const wanted = targets(read('.ci/run').replaceAll('|| status=1', ''))
  const made = targets((jobs.check?.steps ?? []).map(({ run }) => run ?? '').join('\n'))
  t.same(made, ['lint', 'types', 'test'])
  t.same(wanted, made)
})

t.test('its servers are those of docker-compose.yml', async (t) => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string }>
  }
  for (const [name, { image }] of Object.entries(jobs.check?.services ?? {}))
    t.equal(image, services[name]?.image, name)
  t.same(Object.keys(jobs.check?.services ?? {}), ['postgres', 'redis', 'meilisearch'])
})

t.test('it may only read, and its audit only reports', async (t) => {
  t.same(permissions, { contents: 'read' })
  t.equal(jobs.audit?.['continue-on-error'], true)
  t.notOk(JSON.stringify(jobs.check).includes('npm audit'))
  for (const step of Object.values(jobs).flatMap(({ steps }) => steps)) {
    if (step.uses?.startsWith('actions/checkout'))
      t.equal(step.with?.['persist-credentials'], false)
  }
})
