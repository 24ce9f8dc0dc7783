// The languages of the page /docs, and its Spanish texts.
import t from 'tap'
import { spanishOperations } from '../../src/api-docs/docs-page/spanish-operations.ts'
import { spanishTexts } from '../../src/api-docs/docs-page/spanish-texts.ts'
import {
  identifySource,
  translateDocument,
  translateText,
} from '../../src/api-docs/docs-page/translate-document.ts'
import { problemKinds } from '../../src/http/problem-details.ts'
import { apiOperations, describeApi } from '../../src/routes.ts'
import { testService } from '../support/service/test-service.ts'

const service = await testService(t, { index: false })

t.test('the language is that of ?lang=, else of the browser, else English', async (t) => {
  const read = async (url: string, accepted?: string) => {
    const headers = accepted === undefined ? {} : { 'accept-language': accepted }
    const response = await service.app.inject({ url, headers })
    t.equal(response.headers.vary, 'accept-language')
    return /<html lang="(\w+)">/.exec(response.body)?.[1]
  }
  t.equal(await read('/docs'), 'en')
  t.equal(await read('/docs', 'fr'), 'en')
  t.equal(await read('/docs', 'es-MX,es;q=0.9,en;q=0.8'), 'es')
  t.equal(await read('/docs?lang=en', 'es'), 'en')
  t.equal(await read('/docs?lang=es'), 'es')
  t.equal(await read('/docs?lang=xx'), 'en')
})

t.test('every text of the document has a current Spanish translation', async (t) => {
  const document = describeApi(service.config)
  const missing: string[] = []
  const used = new Set<string>()
  const onText = (text: string) => used.add(text)
  const onMissing = (text: string) => missing.push(text)
  translateDocument(document.paths, onMissing, onText)
  translateDocument(document.components.headers, onMissing, onText)
  translateDocument(document.components.schemas, onMissing, onText)
  for (const { title } of Object.values(problemKinds)) translateText(title, onMissing, onText)
  for (const { description } of apiOperations.flatMap(({ exampleRequests }) => exampleRequests))
    translateText(description, onMissing, onText)
  t.same(missing, [], 'src/api-docs/docs-page/spanish-texts.ts has every text')
  t.same(
    Object.keys(spanishTexts).filter((text) => !used.has(text)),
    [],
    'and no text that the document does not have any more',
  )
  for (const { id, ...operation } of apiOperations) {
    t.equal(
      spanishOperations[id]?.translatedFrom,
      identifySource(operation),
      `the Spanish text of ${id} is that of its English text: revise it after each change`,
    )
  }
})

t.test('the page says where a parameter belongs if that is not the query', async (t) => {
  const { body } = await service.app.inject('/docs?lang=en')
  const badges = (name: string) =>
    new RegExp(`<code class="name">${name}</code>(.*?)</dt>`, 's').exec(body)?.[1] ?? ''
  t.match(badges('If-None-Match'), 'in header')
  t.match(badges('token'), 'in path')
  t.notMatch(badges('q'), /in (path|header)/)
})
