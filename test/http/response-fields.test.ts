// Objects that routes return are sent with only the fields of their schemas. For routes that send
// finished text, test/support/openapi-conformance.ts checks every response.
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { ProblemBody } from '../../src/http/problem-details.ts'
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
