// Clients that disconnect while PostgreSQL is asked for their key or link.
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { lengthenSearchTimeouts } from '../support/longer-timeouts.ts'
import { testService } from '../support/test-service.ts'

lengthenSearchTimeouts(t)

const slowLookUps = [
  {
    name: 'its key is looked up',
    table: 'api_keys',
    path: '/api/stats',
    headers: { authorization: `Bearer tqs_${'a'.repeat(12)}_${'A'.repeat(43)}` },
  },
  { name: 'its link is looked up', table: 'quotes', path: `/quote/share/${'A'.repeat(43)}` },
]

for (const { name, table, ...options } of slowLookUps)
  for (const trusted of [[], ['127.0.0.1']])
    t.test(`a client that disconnects while ${name} causes no error (${trusted})`, async (t) => {
      const lines: string[] = []
      const { app, db } = await testService(t, {
        config: { TRUST_PROXY: trusted },
        log: (line) => lines.push(line),
        index: false,
      })
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      await db.transaction().execute(async (transaction) => {
        await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(transaction)
        const aborted = request({ port, ...options })
        aborted.on('error', () => undefined)
        aborted.end()
        await eventually(
          async () => {
            const { rows } = await sql`
              select from pg_locks join pg_database d on d.oid = database
              where not granted and datname = current_database()`.execute(transaction)
            return rows.length
          },
          (waiting) => waiting > 0,
        )
        aborted.destroy()
      })
      const isLogged = () => lines.some((line) => line.includes('"msg":"request'))
      await eventually(async () => isLogged(), Boolean)
      t.notMatch(lines.join('\n'), /"level":50|TypeError/)
    })
