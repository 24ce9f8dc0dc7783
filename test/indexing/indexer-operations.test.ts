// Health, metrics and log of the indexer: idle, while the engine is unreachable, and on standby.
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { testService } from '../support/service/test-service.ts'
import { startIndexerProcess, waitForOutput } from './run-indexer.ts'

type Health = { status: number; body: Record<string, unknown> }

async function readHealth(port: number): Promise<Health> {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null)
  if (!response) return { status: 0, body: {} }
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Returns the values by name and labels. */
async function readMetrics(port: number): Promise<Record<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Object.fromEntries(
    [...text.matchAll(/^(tqs_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
  )
}

t.test('an indexer reports its health, metrics and log', async (t) => {
  const service = await testService(t)
  const { db, config } = service
  await db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  const proxy = await startFaultyProxy(t, config.MEILI_URL)
  const port = await chooseFixedPort()
  const indexer = await startIndexerProcess(t, service, [], {
    MEILI_URL: proxy.url,
    INDEXER_OPS_PORT: String(port),
  })

  await t.test('while it is idle', async (t) => {
    const health = await eventually(
      () => readHealth(port),
      ({ body }) => body.status === 'following changes' && body.lastSuccessAt !== null,
    )
    const body = { failing: null, holdsLease: true, rebuiltProducts: null }
    t.match(health, { status: 200, body })
    const live = await fetch(`http://127.0.0.1:${port}/health/live`)
    t.equal(live.status, 200)

    t.match(await readMetrics(port), {
      'tqs_indexer_holds_lease{engine="main"}': 1,
      'tqs_indexer_failing{engine="main"}': 0,
      'tqs_indexer_rebuild_running{engine="main"}': 0,
      'tqs_index_built{engine="main"}': 1,
      'tqs_index_lag_seconds{engine="main"}': 0,
      'tqs_index_pending_changes{engine="main"}': 0,
      'tqs_indexer_errors_total{kind="engine_unreachable"}': 0,
      'tqs_regular_task_failing{task="quote_links"}': 0,
    })
  })

  await t.test('while it stands by', async (t) => {
    const standbyPort = await chooseFixedPort()
    const standby = await startIndexerProcess(t, service, [], {
      INDEXER_OPS_PORT: String(standbyPort),
    })
    const waiting = await eventually(
      () => readHealth(standbyPort),
      ({ status }) => status === 200,
    )
    t.match(waiting.body, { status: 'standing by', holdsLease: false })
    t.match(await readMetrics(standbyPort), { 'tqs_indexer_holds_lease{engine="main"}': 0 })
    standby.child.kill('SIGTERM')
    t.equal(await standby.exit, 0)
  })

  await t.test('while the engine is unreachable', async (t) => {
    proxy.refuseConnections()
    await db.insertInto('products').values({ sku: 'AB-2', name: 'Tenaza' }).execute()
    const failing = await eventually(
      () => readHealth(port),
      ({ status }) => status === 503,
      60_000,
    )
    t.match(failing, { status: 503, body: { status: 'failing', failing: 'engine_unreachable' } })
    const metrics = await readMetrics(port)
    t.match(metrics, {
      'tqs_indexer_failing{engine="main"}': 1,
      'tqs_index_pending_changes{engine="main"}': 1,
    })
    t.ok((metrics['tqs_indexer_errors_total{kind="engine_unreachable"}'] ?? 0) > 0)
    // It starts over several times.
    await eventually(
      () => readMetrics(port),
      (now) => (now['tqs_indexer_errors_total{kind="engine_unreachable"}'] ?? 0) >= 3,
      60_000,
    )
    const lines = parseLines(indexer.output())
    t.match(lines.at(-1), { level: 40, msg: /Trying again\.$/ }, 'the last line is the failure')
  })

  await t.test('after it has recovered', async (t) => {
    proxy.restore()
    await eventually(
      () => readHealth(port),
      ({ body }) => body.failing === null,
      60_000,
    )
    // The log is written in blocks, so its last line may come after the response of the health
    // check.
    const lines = await eventually(
      async () => parseLines(indexer.output()),
      (all) => all.at(-1)?.msg === 'The indexer works again.',
    )
    t.match(lines.at(-1), { level: 30 })
    for (const line of lines) {
      t.match(line, { time: Number, level: Number, pid: indexer.child.pid, msg: String })
      t.ok(Math.abs(line.time - Date.now()) < 600_000)
    }
  })
})

t.test('follows changes even if its port is taken, and logs that', async (t) => {
  const service = await testService(t)
  const port = new URL(service.config.MEILI_URL).port
  const indexer = await startIndexerProcess(t, service, [], { INDEXER_OPS_PORT: port })
  const output = await waitForOutput(indexer, 'Following changes.')
  t.match(parseLines(output)[0], { level: 50, msg: /^Health and metrics are not served/ })
})

type Line = { time: number; level: number; msg: string }

function parseLines(output: string): Line[] {
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}
