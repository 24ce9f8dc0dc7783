// Objects that routes return are sent with only the fields of their schemas. For routes that send
// finished text, test/support/openapi-conformance.ts checks every response.
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { registerErrorHandlers } from '../../src/http/error-handlers.ts'
import { Problem, ProblemBody, serializeOnlyProblems } from '../../src/http/problem-details.ts'
import { testService } from '../support/service/test-service.ts'

t.test('a field that the response schema lacks does not reach the client', async (t) => {
  const { app } = await testService(t, { index: false })
  const Product = Type.Object({
    sku: Type.String(),
    price: Type.Union([Type.String(), Type.Null()]),
  })
  const response = { 200: Type.Object({ products: Type.Array(Product) }), '4xx': ProblemBody }
  app.get('/products', { schema: { response }, config: { requiredScope: null } }, async () => ({
    products: [
      { sku: 'A', price: '1.50', cost: '0.90' },
      { sku: 'B', price: null, cost: '0.10' },
    ],
    supplier: 'Acme',
  }))
  t.same((await app.inject('/products')).json(), {
    products: [
      { sku: 'A', price: '1.50' },
      { sku: 'B', price: null },
    ],
  })
})

t.test('a route whose fields are not filtered cannot send an object', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  registerErrorHandlers(app, [])
  const response = { 200: Type.Object({}), '4xx': ProblemBody, '5xx': ProblemBody }
  const options = { schema: { response }, serializerCompiler: serializeOnlyProblems }
  app.get('/text', options, async () => '{"sku":"A"}')
  app.get('/object', options, async () => ({ sku: 'A', cost: '0.90' }))
  app.get('/problem', options, async () => {
    throw new Problem('not_found', 'There is no such thing.')
  })
  t.same((await app.inject('/text')).json(), { sku: 'A' })
  t.match((await app.inject('/object')).json(), { status: 500, code: 'internal_error' })
  t.match((await app.inject('/problem')).json(), { status: 404, code: 'not_found' })
})
