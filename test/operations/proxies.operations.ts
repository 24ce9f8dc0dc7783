// The files of deploy/proxy with TLS in front of two API processes: a rolling restart loses no
// answer, and no log contains the token of a quote link.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const host = 'quotes.company.example'
/** Starting a program on a slow machine. */
const patienceMs = 60_000
const token = 'gicVEdCZwRcDlDlRwXyrFwFbV1G17BTD2neJPoFZo-E'
const service = await testService(t)
const directory = createTemporaryDirectory(t, 'proxies')
writeCompanyFile(directory)
const certificateOptions = [
  ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
  ...['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`],
  ...['-keyout', 'key.pem', '-out', 'fullchain.pem'],
]
execFileSync('openssl', ['req', '-x509', ...certificateOptions], { cwd: directory, stdio: 'pipe' })
const certificate = readFileSync(join(directory, 'fullchain.pem'), 'utf8')
const combined = certificate + readFileSync(join(directory, 'key.pem'), 'utf8')
writeFileSync(join(directory, 'combined.pem'), combined, { mode: 0o600 })

type Api = { port: number; opsPort: number; restart(): Promise<void> }

/** Starts an API process on ports of its own, as the second unit of systemd has them. */
async function startApi(t: Test): Promise<Api> {
  const { config } = service
  const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
  const start = async () => {
    const program = startProgram(t, ['src/server.ts'], {
      DATABASE_URL: config.DATABASE_URL,
      REDIS_URL: config.REDIS_URL,
      REDIS_PREFIX: config.REDIS_PREFIX,
      MEILI_URL: config.MEILI_URL,
      MEILI_SEARCH_KEY: config.MEILI_SEARCH_KEY,
      SEARCH_INDEX: config.SEARCH_INDEX,
      ANONYMOUS_SCOPES: 'search:read,stats:read',
      SEARCH_LIMIT_PER_SECOND: '1000000',
      STATS_LIMIT_PER_MINUTE: '1000000',
      LINK_GUESS_LIMIT_PER_MINUTE: '1000000',
      COMPANY_FILE: join(directory, 'company.json'),
      PUBLIC_BASE_URL: `https://${host}`,
      TRUST_PROXY: '127.0.0.1',
      PORT: String(port),
      OPS_PORT: String(opsPort),
    })
    const isReady = () =>
      fetch(`http://127.0.0.1:${opsPort}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    if (!(await eventually(isReady, Boolean, patienceMs))) throw new Error(program.output())
    return program
  }
  let program = await start()
  const restart = async () => {
    program.child.kill('SIGTERM')
    await program.exit
    program = await start()
  }
  return { port, opsPort, restart }
}

type Proxy = { port: number; plainPort: number; readLogs(): string }

/** Replaces what differs on this machine. Throws if the file lacks something of it. */
function adapt(file: string, changes: [string, string][]): string {
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} lacks ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(join(root, 'deploy/proxy', file), 'utf8'),
  )
}

async function startProxy(
  t: Test,
  command: string[],
  check: string[],
  logs: string,
): Promise<() => string> {
  execFileSync(check[0] ?? '', check.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })
  const child = spawnChild(command[0] ?? '', command.slice(1), {
    cwd: directory,
    stopSignal: 'SIGTERM',
    output: 'pipe',
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => output.push(String(text)))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  return () =>
    [...output, ...readdirSync(logs).map((file) => readFileSync(join(logs, file), 'utf8'))].join('')
}

const programs: Record<string, (t: Test, apis: [Api, Api]) => Promise<Proxy>> = {
  'haproxy.cfg': async (t, [first, second]) => {
    const [port, plainPort] = [await chooseFixedPort(), await chooseFixedPort()]
    const file = join(directory, 'haproxy.cfg')
    const logs = mkdtempSync(join(directory, 'logs-'))
    writeFileSync(
      file,
      adapt('haproxy.cfg', [
        ['  user haproxy\n  group haproxy\n', ''],
        ['bind :80\n', `bind 127.0.0.1:${plainPort}\n`],
        ['bind :443 ', `bind 127.0.0.1:${port} `],
        ['/etc/ssl/quotes/combined.pem', join(directory, 'combined.pem')],
        ['# server api-2', 'server api-2'],
        ['127.0.0.1:3010 check port 3011', `127.0.0.1:${second.port} check port ${second.opsPort}`],
        ['127.0.0.1:3000 check port 3001', `127.0.0.1:${first.port} check port ${first.opsPort}`],
        ['127.0.0.1:3000', `127.0.0.1:${first.port}`],
      ]),
    )
    const program = '/usr/sbin/haproxy'
    const check = [program, '-c', '-f', file]
    const readLogs = await startProxy(t, [program, '-db', '-f', file], check, logs)
    return { port, plainPort, readLogs }
  },
  'nginx.conf': async (t, [first, second]) => {
    const [port, plainPort] = [await chooseFixedPort(), await chooseFixedPort()]
    const folder = mkdtempSync(join(directory, 'nginx-'))
    const logs = join(folder, 'logs')
    mkdirSync(logs)
    writeFileSync(
      join(folder, 'quotes.conf'),
      adapt('nginx.conf', [
        ['listen 80;', `listen 127.0.0.1:${plainPort};`],
        ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
        ['/etc/ssl/quotes', directory],
        ['/var/log/nginx', logs],
        ['# server 127.0.0.1:3010', 'server 127.0.0.1:3010'],
        ['127.0.0.1:3010', `127.0.0.1:${second.port}`],
        ['127.0.0.1:3000', `127.0.0.1:${first.port}`],
      ]),
    )
    // What Debian's nginx.conf has around the files of conf.d, with folders of the test.
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    writeFileSync(
      join(folder, 'nginx.conf'),
      `pid ${folder}/pid;\ndaemon off;\nerror_log stderr;\nevents {}\n` +
        `http {\naccess_log ${logs}/access.log;\n${paths.join('\n')}\n` +
        `include ${folder}/quotes.conf;\n}\n`,
    )
    const command = ['/usr/sbin/nginx', '-p', folder, '-c', join(folder, 'nginx.conf')]
    const readLogs = await startProxy(t, command, [...command, '-t'], logs)
    return { port, plainPort, readLogs }
  },
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 })
t.teardown(() => agent.destroy())

type Answer = { status: number; headers: object; isReused: boolean; error?: Error }

/** Returns status and headers, or status 0 and the error, and whether the connection was used. */
function ask(port: number, path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, agent, servername: host, ca: certificate }
    const asked = request({ ...options, headers: { host } }, (response: IncomingMessage) => {
      const { statusCode: status = 0, headers } = response
      response.resume()
      response.once('end', () => resolve({ status, headers, isReused: asked.reusedSocket }))
    })
    asked.once('error', (error) =>
      resolve({ status: 0, headers: {}, isReused: asked.reusedSocket, error }),
    )
    asked.end()
  })
}

/** Asks again if a connection that was used before ended without an answer, as browsers do. */
async function askAgainIfClosed(t: Test, port: number, path: string): Promise<Answer> {
  const answer = await ask(port, path)
  if (!answer.error) return answer
  t.comment(`${path.slice(0, 12)}, ${answer.isReused ? 'used' : 'new'} connection: ${answer.error}`)
  return answer.isReused ? ask(port, path) : answer
}

for (const [name, start] of Object.entries(programs)) {
  t.test(`${name}: a rolling restart loses no answer, and logs have no token`, async (t) => {
    const apis: [Api, Api] = [await startApi(t), await startApi(t)]
    const proxy = await start(t, apis)
    const search = '/api/search?q=secret-words'
    const first = await eventually(
      () => ask(proxy.port, search),
      ({ status }) => status === 200,
      patienceMs,
    )
    t.match(first, { status: 200, headers: { 'strict-transport-security': /max-age/ } })
    for (const path of [search, `/quote/share/${token}`]) {
      const plain = await fetch(`http://127.0.0.1:${proxy.plainPort}${path}`, {
        redirect: 'manual',
      })
      t.equal(plain.status, 308)
    }

    const statuses = new Map<number, number>()
    let isOver = false
    const asking = Promise.all(
      [search, '/api/stats', `/quote/share/${token}`].map(async (path) => {
        while (!isOver) {
          const { status } = await askAgainIfClosed(t, proxy.port, path)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          await sleep(20)
        }
      }),
    )
    for (const api of apis) await api.restart()
    isOver = true
    await asking
    const asked = [...statuses.values()].reduce((sum, count) => sum + count, 0)
    t.comment(`${asked} requests: ${JSON.stringify([...statuses])}`)
    t.ok(asked > 100, 'there was load')
    t.same([...statuses.keys()].sort(), [200, 404], 'the link is unknown, all others succeed')

    // A request that meets the end of its resting connection has no answer, so that end comes late.
    await sleep(12_000)
    const { status, isReused } = await ask(proxy.port, search)
    t.same({ status, isReused }, { status: 200, isReused: true }, 'connections may rest for 12 s')

    const logs = await eventually(
      async () => proxy.readLogs(),
      (text) => text.includes('/quote/share/***'),
    )
    t.match(logs, /\/api\/search\n/)
    t.notOk(logs.includes(token), 'no token')
    t.notOk(logs.includes('secret-words'), 'no text of a search')
  })
}
