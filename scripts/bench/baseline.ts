// Routes that do the work of a benchmark without our code, on PORT:
//   bytes FILE                   sends the file
//   forward URL KEY FILE         forwards a search to Meilisearch. The file holds a body for each text
//   link DATABASE_URL PAGE JSON  reads a link with the same statement, and sends the file
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { readLink } from '../../src/quotes/links/read-link.ts'
import { EngineConnections } from '../../src/search-engine/client.ts'

const [route = '', first = '', second = '', third = ''] = process.argv.slice(2)
const json = 'application/json; charset=utf-8'
const app = Fastify()
if (route === 'bytes') {
  const bytes = readFileSync(first)
  app.get('/', (_request, reply) => reply.type(json).send(bytes))
} else if (route === 'forward') {
  const bodies = new Map<string, string>(JSON.parse(readFileSync(third, 'utf8')))
  const engine = new EngineConnections(new URL(first), { authorization: `Bearer ${second}` })
  const { signal } = new AbortController()
  app.get<{ Querystring: { q: string } }>('/api/search', async ({ query }, reply) => {
    const { body } = await engine.send('POST', '/multi-search', bodies.get(query.q) ?? '', signal)
    return reply.type(json).send(body)
  })
} else if (route === 'link') {
  const db = openDatabase(first)
  const files = { html: readFileSync(second), json: readFileSync(third) }
  const types = { html: 'text/html; charset=utf-8', json }
  type Query = { format: 'html' | 'json' }
  app.get<{ Params: { token: string }; Querystring: Query }>(
    '/quote/share/:token',
    async ({ params, query: { format } }, reply) => {
      await readLink(db, params.token, { timeZone: 'Europe/Madrid', now: new Date() })
      return reply.type(types[format]).send(files[format])
    },
  )
} else throw new Error(`There is no baseline route ${route}.`)
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
