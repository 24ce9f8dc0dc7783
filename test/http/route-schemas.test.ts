// The JSON schemas of all routes, which the service itself does not check, to start sooner. Also
// their scopes, which the OpenAPI document repeats, and their rate limits.
import diagnostics from 'node:diagnostics_channel'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import t from 'tap'
import { toOpenApiPath } from '../../src/http/endpoint-paths.ts'
import { describeValidationErrors } from '../../src/http/validation-problems.ts'
import { apiOperations } from '../../src/routes.ts'
import { testService } from '../support/service/test-service.ts'

type Schema = { [keyword: string]: unknown; properties?: Record<string, Schema> }

const schemas: { name: string; part: string; schema: Schema }[] = []

/** By path, as the OpenAPI document writes it. Null for a route that is open to everybody. */
const requiredScopes = new Map<string, string | null | undefined>()

/** The paths of the routes that limit the requests of each caller. */
const limitedPaths: string[] = []

function collectRoute({ method, url, schema = {}, config, preParsing }: RouteOptions): void {
  if (![method].flat().includes('GET')) return
  requiredScopes.set(toOpenApiPath(url), config?.requiredScope)
  // A rate limit is the only `preParsing` that a route may have (CallerRateLimit).
  if (preParsing !== undefined) limitedPaths.push(toOpenApiPath(url))
  const { response = {}, ...others } = schema
  for (const [part, each] of Object.entries({ ...others, ...(response as object) }))
    schemas.push({ name: `${url} ${part}`, part, schema: each as Schema })
}

diagnostics.subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  fastify.addHook('onRoute', collectRoute)
})
await testService(t, {
  config: { SEARCH_REPORT: true, WEB_PARTS: ['home', 'dashboard', 'palette'] },
  index: false,
})

t.test('each schema of a route is a valid JSON schema with known keywords', async (t) => {
  for (const route of ['/api/search', '/api/stats', '/quote/share/:token', '/dashboard/searches'])
    for (const part of ['querystring', '200', '4xx'])
      t.ok(
        schemas.some(({ name }) => name === `${route} ${part}`),
        `${route} ${part}`,
      )
  const compile = (schema: Schema) =>
    new Ajv({ strict: true, strictTypes: false, validateFormats: false }).compile(schema)
  for (const { name, schema } of schemas) t.doesNotThrow(() => compile(schema), name)
  t.throws(() => compile({ type: 'strin' }), /schema is invalid/)
  t.throws(() => compile({ type: 'string', maxLenght: 3 }), /unknown keyword/)
})

t.test('the OpenAPI document names the scope that each route requires', async (t) => {
  for (const { path, scope } of apiOperations) {
    t.ok(requiredScopes.has(path), path)
    t.equal(requiredScopes.get(path), scope, path)
  }
})

t.test('only pages, documentation and quote links are open to everybody', async (t) => {
  const open = [...requiredScopes].filter(([, scope]) => scope === null).map(([path]) => path)
  const isStatic = (path: string) => /^\/(web|docs)\//.test(path)
  t.same(open.filter((path) => !isStatic(path)).toSorted(), [
    '/',
    '/dashboard',
    '/docs',
    '/openapi.json',
    '/quote/share/{token}',
  ])
  t.ok(open.some(isStatic))
})

t.test('every route that requires a scope limits the requests of each caller', async (t) => {
  const paths = [...requiredScopes].filter(([, scope]) => scope !== null).map(([path]) => path)
  t.same(limitedPaths.toSorted(), paths.toSorted())
})

/** Keywords that do not limit the values of a string. */
const unlimiting = ['type', 'description', 'default', 'examples']

t.test('a problem says what is allowed for each parameter of a route', async (t) => {
  const describe = (parentSchema: Schema, data: unknown = 'x') =>
    describeValidationErrors([
      { instancePath: '/x', keyword: 'any', schemaPath: '', params: {}, parentSchema, data },
    ] as unknown as Parameters<typeof describeValidationErrors>[0])[0]?.detail
  const isLimited = ({ type, ...schema }: Schema) =>
    (type !== 'string' && type !== undefined) ||
    Object.keys(schema).some((keyword) => !unlimiting.includes(keyword))
  let limitedCount = 0
  const check = (name: string, schema: Schema) => {
    if (!isLimited(schema)) return
    limitedCount += 1
    t.not(describe(schema), 'is not valid', name)
    if (schema.items !== undefined) check(`an item of ${name}`, schema.items as Schema)
  }
  for (const { name, part, schema } of schemas) {
    if (part !== 'querystring' && part !== 'params') continue
    for (const [parameter, each] of Object.entries(schema.properties ?? {}))
      check(`${name} ${parameter}`, each)
  }
  t.ok(limitedCount > 10, `${limitedCount} limited parameters`)

  const list = { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string' } }
  t.equal(describe(list, ['a', 'b', 'c', 'd']), 'must occur 1 to 3 times')
  t.equal(describe({ type: 'string', maxLength: 3 }, ['a', 'b']), 'must occur only once')
  t.equal(describe({ type: 'number', minimum: 0, maximum: 1 }), 'is not valid', 'not an integer')
})

// The last test, because the route that it collects is no route of the service.
t.test('a route with a list of methods is checked too', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.route({ method: ['GET'], url: '/list', handler: async () => ({}) })
  t.ok(requiredScopes.has('/list'))
})
