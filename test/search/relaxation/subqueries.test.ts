// What a relaxed query sends to the engine: each text once, in two parallel requests.
import t from 'tap'
import { loadQueryWords } from '../../../src/search/relaxation/query-words.ts'
import { relaxQuery } from '../../../src/search/relaxation/relax-query.ts'
import { Subqueries } from '../../../src/search/relaxation/subqueries.ts'
import type { EngineQuery, EngineResult } from '../../../src/search-engine/search-client.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'
import { createStubEngine, noHits } from '../../support/stub-engine.ts'

const scope = { indexUid: 'products', filter: [] }

/** Returns an engine without products, and the requests that it has received. */
function recordRequests(answer?: (queries: EngineQuery[]) => Promise<EngineResult[]>) {
  const requests: EngineQuery[][] = []
  const engine = createStubEngine(async (queries) => {
    requests.push(queries)
    return answer ? answer(queries) : queries.map(() => noHits)
  })
  const subqueries = new Subqueries(engine, scope, new AbortController().signal)
  const sentTexts = () => requests.flat().map(({ q }) => q)
  return { subqueries, requests, sentTexts }
}

t.test('a translation that two words share is sent once', async (t) => {
  const { subqueries, sentTexts } = recordRequests()
  const query = parseQuery('navigation waterway')
  for (const word of ['navigation', 'waterway'])
    t.ok(query.translations.get(word)?.includes('navegacion'), word)
  const words = await loadQueryWords(subqueries, query)
  await relaxQuery(subqueries, words, query.synonyms, [])
  const sent = sentTexts()
  t.equal(sent.filter((text) => text === 'navegacion').length, 1)
  t.same(sent.toSorted(), [...new Set(sent)].toSorted(), 'no text is sent twice')
})

t.test('a text is sent once, also in different calls', async (t) => {
  const { subqueries, requests, sentTexts } = recordRequests()
  await subqueries.send([
    { text: 'tubo', limit: 40, isLastWordQuoted: false },
    { text: 'tubo', limit: 15, isLastWordQuoted: false },
  ])
  await subqueries.send([
    { text: 'tubo', limit: 15, isLastWordQuoted: false },
    { text: 'cobre', limit: 15, isLastWordQuoted: false },
  ])
  t.same(sentTexts(), ['tubo', 'cobre'])
  t.equal(requests[0]?.[0]?.limit, 40, 'the first limit counts')
})

t.test('slow subqueries are divided evenly, and results stay in their order', async (t) => {
  const { subqueries, requests } = recordRequests(async (queries) => {
    // The first request is answered last.
    if (queries[0]?.q === 'tubo') await new Promise((resolve) => setTimeout(resolve, 20))
    return queries.map(({ q }) => ({ hits: [], estimatedTotalHits: q.length }))
  })
  const texts = ['"a" "b"', '"c" "d" "e"', 'tubo', 'cobre']
  await subqueries.send(texts.map((text, n) => ({ text, limit: 15, isLastWordQuoted: n < 2 })))
  t.same(
    requests.map((queries) => queries.map(({ q }) => q)),
    [
      ['tubo', '"a" "b"'],
      ['cobre', '"c" "d" "e"'],
    ],
  )
  t.same(
    subqueries.allResults().map(({ estimatedTotalHits }) => estimatedTotalHits),
    texts.map(({ length }) => length),
  )
})
