// Clients that disconnect while PostgreSQL is asked for their key, their link or their products.
import { type ClientRequest, type RequestOptions, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import t from 'tap'
import type { Tables } from '../../src/database/table-types.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { eventually } from '../support/eventually.ts'
import { idOf } from '../support/key-parts.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

/** How long each client waits before it disconnects. */
const waitMs = 200

const slowLookUps = [
  {
    name: 'its key is looked up',
    table: 'api_keys',
    path: '/api/stats',
    headers: { authorization: `Bearer tqs_${'a'.repeat(12)}_${'A'.repeat(43)}` },
  },
  { name: 'its link is looked up', table: 'quotes', path: `/quote/share/${'A'.repeat(43)}` },
]

/** Locks the table and sends a request. Returns the request once a query of it waits. */
async function sendUntilItWaits(
  transaction: Transaction<Tables>,
  table: string,
  options: RequestOptions,
): Promise<ClientRequest> {
  await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(transaction)
  const sent = request(options)
  sent.on('error', () => undefined)
  sent.end()
  await eventually(
    async () => {
      const { rows } = await sql`
        select from pg_locks join pg_database d on d.oid = database
        where not granted and datname = current_database()`.execute(transaction)
      return rows.length
    },
    (waiting) => waiting > 0,
  )
  return sent
}

for (const { name, table, ...options } of slowLookUps)
  for (const trusted of [[], ['127.0.0.1']])
    t.test(`a client that disconnects while ${name} causes no error (${trusted})`, async (t) => {
      const lines: string[] = []
      const metrics = createMetrics()
      const { app, db } = await testService(t, {
        config: { TRUST_PROXY: trusted },
        metrics,
        log: (line) => lines.push(line),
        index: false,
      })
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      await db.transaction().execute(async (transaction) => {
        const aborted = await sendUntilItWaits(transaction, table, { port, ...options })
        await sleep(waitMs)
        aborted.destroy()
        const findLine = () => lines.find((line) => line.includes('"msg":"request'))
        const line = await eventually(async () => findLine(), Boolean)
        const { msg, status, ms } = JSON.parse(line ?? '{}')
        t.same({ msg, status }, { msg: 'request cancelled by the client', status: 499 })
        t.ok(ms >= waitMs, `after ${ms} ms`)
      })
      const sumSeconds = metrics.requests
        .histogram('duration')
        .filter(({ metricName }) => metricName === 'duration_sum')
        .reduce((sum, { value }) => sum + value, 0)
      t.ok(sumSeconds >= waitMs / 1_000, `${sumSeconds} s are counted`)
      // By the time of its response, the look-up of the cancelled request has ended as well.
      await app.inject({ url: options.path, ...(options.headers && { headers: options.headers }) })
      t.notMatch(lines.join('\n'), /"level":50|TypeError/)
    })

t.test('a request that its client cancels counts once as a request of its key', async (t) => {
  const lines: string[] = []
  const { app, db } = await testService(t, { log: (line) => lines.push(line), index: false })
  const key = await createSecretKey(db)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  await db.transaction().execute(async (transaction) => {
    const options = { port, path: '/api/search?sku=A', headers: bearer(key) }
    const cancelled = await sendUntilItWaits(transaction, 'products', options)
    cancelled.destroy()
    await eventually(async () => lines.join('').includes('cancelled by the client'), Boolean)
  })
  await app.close()
  t.match(await db.selectFrom('api_key_usage').select(['key_id', 'calls', 'refusals']).execute(), [
    { key_id: idOf(key), calls: '1', refusals: '0' },
  ])
})
