// Checks the GitHub workflow: it runs what .ci/run runs, on the servers of docker-compose.yml.
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { runChild } from '../../scripts/servers/child-lifetime.ts'
import { findUnlisted, jobs, type Step } from '../containers/workflow-steps.ts'
import { startLocalServer } from '../support/servers/local-server.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const { permissions } = parse(read('.github/workflows/ci.yml')) as { permissions: object }

t.test('the container test executes each step, or lists it with a reason', async (t) => {
  t.same(findUnlisted(jobs), [])
  const { check, ...others } = jobs
  if (check === undefined) throw new Error('The workflow has no job "check".')
  const findIn = (steps: Step[]) => findUnlisted({ ...others, check: { ...check, steps } })
  t.same(findIn([...check.steps, { uses: `actions/cache@${'0'.repeat(40)}` }]), [
    'check: "actions/cache" is neither executed nor listed',
  ])
  t.same(findIn([...check.steps, { run: 'make demo', 'continue-on-error': true }]), [
    'check: the container test ignores "continue-on-error" of a step',
  ])
  t.same(findIn(check.steps.filter(({ run }) => run !== 'make test')), [
    '"make test" is listed, but is not in the workflow',
  ])
})

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

t.test('advisories for production block a change, and no others', async (t) => {
  const audits = jobs.audit?.steps.filter(({ run }) => run?.startsWith('npm audit')) ?? []
  t.same(
    audits.map((step) => step['continue-on-error'] ?? false),
    [false, true],
  )
  t.notOk(jobs.audit?.['continue-on-error'])
  t.notOk(JSON.stringify(jobs.check).includes('npm audit'))

  const [production, all] = audits
  t.same(await audit(t, production, ''), { passes: true, found: false })
  t.same(await audit(t, production, 'typescript'), { passes: true, found: false })
  t.same(await audit(t, production, 'fastify'), { passes: false, found: true })
  t.match(await audit(t, all, 'typescript'), { found: true }, 'is reported')
})

/** Executes a step with a registry that knows an advisory for one package. */
async function audit(t: Test, step: Step | undefined, badPackage: string) {
  const registry = await startLocalServer(t, async (request, response) => {
    if (!request.url?.endsWith('/advisories/bulk')) return void response.writeHead(404).end('{}')
    const body = Buffer.concat(await Array.fromAsync(request))
    const asked = JSON.parse(String(gunzipSync(body))) as Record<string, string[]>
    const advisory = {
      ...{ id: 1, url: 'https://advisories.example/1', title: 'Bad', severity: 'high' },
      ...{ vulnerable_versions: '*', cwe: [], cvss: { score: 0, vectorString: null } },
    }
    response.end(JSON.stringify(badPackage in asked ? { [badPackage]: [advisory] } : {}))
  })
  const directory = createTemporaryDirectory(t, 'audit')
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, file), join(directory, file))
  const summary = join(directory, 'summary')
  // As the forge starts each of its two shells.
  const shell = step?.shell === 'bash' ? ['--noprofile', '--norc', '-eo', 'pipefail'] : ['-e']
  const { status } = await runChild('bash', [...shell, '-c', step?.run ?? 'exit 2'], {
    cwd: directory,
    env: { HOME: directory, GITHUB_STEP_SUMMARY: summary, npm_config_registry: registry },
  })
  const found = /high severity vulnerabilit/.test(readFileSync(summary, 'utf8'))
  return { passes: status === 0, found }
}
