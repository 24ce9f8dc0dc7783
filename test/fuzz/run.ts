// Sends generated requests to a service and checks the responses: no 5xx, and nothing that the
// OpenAPI document does not describe.
import fc from 'fast-check'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { describeApi } from '../../src/routes.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { createConformanceCheck } from '../support/openapi-conformance.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { generateRequests, type RequestValues } from './requests.ts'

export type FuzzResult = {
  requests: number
  byStatus: Record<string, number>
  /** The first request with a bad response, and the reason. */
  failure: string | null
}

/** A service with products, of which one has special characters, and quotes. */
export async function fuzzService(t: { teardown(fn: () => unknown): void }): Promise<TestService> {
  // A busy machine is no failure of the service.
  lengthenTimeouts(t)
  waitLongForRenderings(t)
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

const requestsPerBatch = 20

/** Values that mean something to the data of `fuzzService`. */
const meaningfulValues = [
  'martilo',
  'AB-742',
  'Herramientas',
  'category,brand',
  'ES',
  'unknown',
  '2026-11-01',
  '2026-11-30',
  '1000-01-01',
]

/** Sends `count` requests drawn from `seed`, 20 at once. `failure` names the first bad request. */
export async function fuzz(
  service: TestService,
  { count, seed }: { count: number; seed: number },
): Promise<FuzzResult> {
  const document = describeApi(service.config)
  const findViolation = createConformanceCheck(document)
  const requests = generateRequests(document, await prepareValues(service))
  const byStatus: Record<string, number> = {}
  let sent = 0
  const { failed, errorInstance, counterexample } = await fc.check(
    fc.asyncProperty(
      fc.array(requests, { minLength: requestsPerBatch, maxLength: requestsPerBatch }),
      async (batch) => {
        const responses = await Promise.all(
          batch.map(({ method, url, headers }) => service.app.inject({ method, url, headers })),
        )
        for (const [index, { statusCode, headers, rawPayload }] of responses.entries()) {
          const { path, method } = batch[index] ?? { path: '', method: 'GET' }
          const body = method === 'HEAD' || statusCode === 304 ? null : rawPayload
          const violation =
            statusCode >= 500
              ? `${statusCode}: ${rawPayload}`
              : findViolation(path, statusCode, headers, body)
          if (violation) throw new Error(`${JSON.stringify(batch[index])}: ${violation}`)
          byStatus[statusCode] = (byStatus[statusCode] ?? 0) + 1
          sent += 1
        }
      },
    ),
    { seed, numRuns: Math.ceil(count / requestsPerBatch), endOnFailure: true },
  )
  const reason =
    errorInstance instanceof Error ? errorInstance.message : JSON.stringify(counterexample)
  return { requests: sent, byStatus, failure: failed ? `seed ${seed}: ${reason}` : null }
}

async function prepareValues({ db }: TestService): Promise<RequestValues> {
  const tokens = [
    await createQuoteLink(db, { number: 'P-1' }),
    await createQuoteLink(db, { number: 'P-1', expiry: new Date(Date.now() + 2_000) }),
  ]
  const keys = await Promise.all(
    [['search:read', 'stats:read'] as const, ['search:read'] as const].map((scopes) =>
      createApiKey(db, { kind: 'secret', name: 'fuzz', scopes: [...scopes], unlimited: true }),
    ),
  )
  return {
    parameterValues: meaningfulValues,
    tokens,
    validCredentials: keys.map((key) => `Bearer ${key}`),
    invalidCredentials: ['Bearer tqs_000000000000_x', 'Basic eDp5', 'Bearer', ''],
  }
}
