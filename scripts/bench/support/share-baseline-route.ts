// The baseline for quote links: a Fastify route that does the same indexed read and sends the same
// bytes.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { openDatabase } from '../../../src/database/postgres-pool.ts'
import { readLink } from '../../../src/quotes/links/read-link.ts'

const [databaseUrl = '', port = '', page = '', json = ''] = process.argv.slice(2)
const db = openDatabase(databaseUrl)
const app = Fastify()
for (const [path, type, bytes] of [
  ['/html/:token', 'text/html; charset=utf-8', readFileSync(page)],
  ['/json/:token', 'application/json; charset=utf-8', readFileSync(json)],
] as const) {
  app.get<{ Params: { token: string } }>(path, async (request, reply) => {
    await readLink(db, request.params.token, { timeZone: 'Europe/Madrid', now: new Date() })
    return reply.type(type).send(bytes)
  })
}
await app.listen({ host: '127.0.0.1', port: Number(port) })
