// Sends fuzzed requests to a service and looks at the answers: no 5xx, and nothing outside the OpenAPI document.
import fc from 'fast-check'
import { describeApi } from '../../src/app.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { shareQuote } from '../../src/quotes/share-links.ts'
import { createConformanceCheck } from '../support/openapi-conformance.ts'
import { addQuote } from '../support/quotes.ts'
import { type TestService, testService } from '../support/test-service.ts'
import { requestsOf } from './requests.ts'

export type FuzzResult = {
  requests: number
  byStatus: Record<string, number>
  trouble: string | null
}

/** A service with something of everything. */
export async function fuzzService(t: { teardown(fn: () => unknown): void }): Promise<TestService> {
  const service = await testService(t)
  const { db, sync } = service
  await db
    .insertInto('products')
    .values([
      {
        sku: 'AB-742-X',
        name: 'Martillo de bola',
        category: 'Herramientas',
        brand: 'Bellota',
        price: '12.5',
        currency: 'EUR',
        hs_code: '820520',
      },
      { sku: '%_*\\', name: `'"<b>`, category: '" OR 1=1', brand: '=1+1' },
    ])
    .execute()
  await addQuote(db, 'P-1')
  await addQuote(db, 'P-2', {
    status: 'accepted',
    decided_on: '2026-11-03',
    country: 'ES',
    currency: 'USD',
    rate: null,
  })
  await sync()
  return service
}

/** Sends `count` requests by `seed`, some at once. A trouble names the request, so that it can be repeated. */
export async function fuzz(
  { app, db, config }: TestService,
  { count, seed }: { count: number; seed: number },
): Promise<FuzzResult> {
  const tokens = [
    await shareQuote(db, { number: 'P-1' }),
    await shareQuote(db, { number: 'P-1', expiresAt: new Date(Date.now() + 2_000) }),
  ]
  const keys = await Promise.all(
    [['search:read', 'stats:read'] as const, ['search:read'] as const].map((scopes) =>
      createApiKey(db, { kind: 'secret', name: 'fuzz', scopes: [...scopes], unlimited: true }),
    ),
  )
  const document = describeApi(config)
  const checkConformance = createConformanceCheck(document)
  const requests = requestsOf(document, {
    words: [
      'martilo',
      'AB-742',
      'Herramientas',
      'category,brand',
      'ES',
      'unknown',
      '2026-11-01',
      '2026-11-30',
      '1000-01-01',
    ],
    tokens,
    keys: keys.map((key) => `Bearer ${key}`),
    strangers: ['Bearer tqs_000000000000_x', 'Basic eDp5', 'Bearer', ''],
  })
  const byStatus: Record<string, number> = {}
  let done = 0
  const { failed, errorInstance, counterexample } = await fc.check(
    fc.asyncProperty(fc.array(requests, { minLength: 20, maxLength: 20 }), async (batch) => {
      const answers = await Promise.all(
        batch.map(({ method, url, headers }) => app.inject({ method, url, headers })),
      )
      for (const [index, { statusCode, headers, rawPayload }] of answers.entries()) {
        const { path, method } = batch[index] ?? { path: '', method: 'GET' }
        const body = method === 'HEAD' || statusCode === 304 ? null : rawPayload
        const trouble =
          statusCode >= 500
            ? `${statusCode}: ${rawPayload}`
            : checkConformance(path, statusCode, headers, body)
        if (trouble) throw new Error(`${JSON.stringify(batch[index])}: ${trouble}`)
        byStatus[statusCode] = (byStatus[statusCode] ?? 0) + 1
        done += 1
      }
    }),
    { seed, numRuns: Math.ceil(count / 20), endOnFailure: true },
  )
  const trouble = failed
    ? `seed ${seed}: ${errorInstance instanceof Error ? errorInstance.message : JSON.stringify(counterexample)}`
    : null
  return { requests: done, byStatus, trouble }
}
