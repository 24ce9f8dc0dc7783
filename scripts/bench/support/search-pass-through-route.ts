// The reference for the search endpoint: a Fastify route that only forwards requests to
// Meilisearch.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { EngineConnections } from '../../../src/search-engine/client.ts'

const [engineUrl = '', engineKey = '', port = '', requests = ''] = process.argv.slice(2)
/** The body that the endpoint sends to the engine for each text. */
const bodies = new Map<string, string>(JSON.parse(readFileSync(requests, 'utf8')))
const engine = new EngineConnections(new URL(engineUrl), { authorization: `Bearer ${engineKey}` })
const { signal } = new AbortController()
const app = Fastify()
app.get<{ Querystring: { q: string } }>('/api/search', async ({ query }, reply) => {
  const { body } = await engine.send('POST', '/multi-search', bodies.get(query.q) ?? '', signal)
  return reply.type('application/json').send(body)
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
