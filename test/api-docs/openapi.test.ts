// GET /openapi.json and GET /docs: complete, correct, and without external resources.
import { createConfig, lintFromString } from '@redocly/openapi-core'
import t from 'tap'
import type { OpenApiDocument } from '../../src/api-docs/openapi-document.ts'
import { describeApi } from '../../src/routes.ts'
import { testService } from '../support/service/test-service.ts'

const service = await testService(t, { index: false })

t.test('the document contains exactly the three endpoints, tagged as the product', async (t) => {
  const response = await service.app.inject('/openapi.json')
  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  const document = response.json<OpenApiDocument>()
  t.match(document, { openapi: /^3\.1\./, servers: [{ url: 'https://quotes.example' }] })
  t.same(Object.keys(document.paths), ['/api/search', '/api/stats', '/quote/share/{token}'])
  for (const [path, item] of Object.entries(document.paths)) {
    t.same(Object.keys(item), ['get'], path)
    t.same(item.get.tags, ['product'], path)
  }
  const again = await service.app.inject({
    url: '/openapi.json',
    headers: { 'if-none-match': String(response.headers.etag) },
  })
  t.equal(again.statusCode, 304)
  t.equal(again.body, '')
})

t.test('the document passes the recommended rules of Redocly', async (t) => {
  const config = await createConfig({ extends: ['recommended'] })
  const { body } = await service.app.inject('/openapi.json')
  t.same(
    (await lintFromString({ source: body, config })).map(
      ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
    ),
    [],
  )
  const broken = await lintFromString({
    source: body.replace('"operationId":"readStats",', ''),
    config,
  })
  t.ok(broken.length > 0, 'the rules are really applied')
})

t.test(
  'every part of the document has a description, and every free parameter an example',
  async (t) => {
    const { paths, components } = describeApi(service.config)
    for (const [path, { get }] of Object.entries(paths)) {
      const { summary, description, parameters, responses } = get as unknown as {
        summary: string
        description: string
        parameters: {
          name: string
          description: string
          example?: unknown
          schema: { enum?: unknown; default?: unknown }
        }[]
        responses: Record<
          string,
          { description: string; content?: Record<string, { examples?: object }> }
        >
      }
      t.ok(summary && description, path)
      for (const { name, description, example, schema } of parameters) {
        t.ok(description, `${path} ${name} is described`)
        t.ok(
          example !== undefined || schema.enum || schema.default !== undefined,
          `${path} ${name} has an example`,
        )
      }
      for (const [status, { description, content = {} }] of Object.entries(responses)) {
        t.ok(description, `${path} ${status}`)
        for (const [type, { examples }] of Object.entries(content)) {
          if (type.endsWith('json') || type.endsWith('csv'))
            t.ok(Object.keys(examples ?? {}).length > 0, `${path} ${status} ${type} has an example`)
        }
      }
    }
    for (const [name, { description }] of Object.entries(components.headers))
      t.ok(description, name)
  },
)

t.test('the document allows calls without a key exactly for the anonymous scopes', async (t) => {
  const security = (scopes: ('search:read' | 'stats:read')[]) =>
    Object.values(describeApi({ ...service.config, ANONYMOUS_SCOPES: scopes }).paths).map(
      ({ get }) => get.security,
    )
  t.same(security([]), [
    [{ secretKey: ['search:read'] }, { publishableKey: ['search:read'] }],
    [{ secretKey: ['stats:read'] }],
    [],
  ])
  t.same(security(['stats:read'])[1], [{ secretKey: ['stats:read'] }, {}])
})

t.test('/docs loads everything from the service, under a strict policy', async (t) => {
  const { statusCode, headers, body } = await service.app.inject('/docs')
  t.equal(statusCode, 200)
  t.match(headers['content-type'], /^text\/html/)
  t.notMatch(String(headers['content-security-policy']), /unsafe|https?:|\*/)
  t.notMatch(
    body,
    /<script>|javascript:|\son[a-z]+=|style=|<img|<iframe|@import/i,
    'nothing inline',
  )
  const targets = [...body.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = '']) => target)
  t.same(targets, [
    ...['data:,', 'docs/swagger-ui.css', 'docs/colors.css'],
    ...['docs/swagger-ui-bundle.js', 'docs/start.js'],
  ])
  for (const target of targets.filter((target) => target !== 'data:,')) {
    const file = await service.app.inject(`/${target}`)
    t.equal(file.statusCode, 200, target)
    t.match(file.headers, { 'x-content-type-options': 'nosniff', etag: /^"/ }, target)
  }
  const { body: start } = await service.app.inject('/docs/start.js')
  const { components } = describeApi(service.config)
  t.ok(start.includes(JSON.stringify(components)), 'it shows the document')
})

t.test('/openapi.json and /docs can each be switched off', async (t) => {
  const database = { db: service.db, pool: service.pool, url: service.url, roles: service.roles }
  const statusesWith = async (config: object) => {
    const { app } = await testService(t, { config, database, index: false })
    return [(await app.inject('/openapi.json')).statusCode, (await app.inject('/docs')).statusCode]
  }
  t.same(await statusesWith({ SERVE_OPENAPI: false }), [404, 200])
  t.same(await statusesWith({ SERVE_DOCS: false }), [200, 404])
})
