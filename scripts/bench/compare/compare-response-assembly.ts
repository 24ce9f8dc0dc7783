// Compares the ways to add `meta` to a cached search answer: add its JSON to the cached JSON, or
// serialise the whole answer again.
import { addMeta, serializeResult } from '../../../src/search/response-cache.ts'
import type { Hit, SearchRequest, SearchResponse } from '../../../src/search/schema.ts'
import { runCommand } from '../../cli/command.ts'
import { median } from '../support/load/quantile.ts'

const help = `
Usage: node scripts/bench/compare/compare-response-assembly.ts [--hits N] [--rounds N]

Assembles an answer from a cached result in two ways and prints the median time of each:
adding the JSON of meta to the cached JSON, and serialising the whole answer.

  --hits N     hits in the answer (8, the default limit of GET /api/search)
  --rounds N   how often everything is measured (9)
`

const options = {
  hits: { type: 'string', default: '8' },
  rounds: { type: 'string', default: '9' },
} as const

const answersPerRound = 20_000

await runCommand(help, options, async ({ hits, rounds }) => {
  const request: SearchRequest = { text: 'martillo', limit: 50, offset: 0, facets: ['category'] }
  const result = {
    hits: Array.from({ length: Number(hits) }, (_, index) => exampleHit(index)),
    total: 37,
    facets: { category: { Herramientas: 31, Ferretería: 6 } },
  }
  const indexedAt = new Date().toISOString()
  const cachedResult = serializeResult(request, { ...result, facetsOmitted: false })
  const meta: SearchResponse['meta'] = { source: 'index', degraded: false, indexedAt }
  const cachedAnswer = { query: request.text, ...result }

  // The length is read from the bytes, as for sending, so that no string stays a lazy one.
  const addToJson = () => Buffer.from(addMeta(cachedResult, meta)).length
  const serializeAgain = () => Buffer.from(JSON.stringify({ ...cachedAnswer, meta })).length
  if (addToJson() !== serializeAgain()) throw new Error('The two answers differ.')

  const added: number[] = []
  const serialized: number[] = []
  for (let round = 0; round < Number(rounds); round++) {
    added.push(measureMicroseconds(addToJson))
    serialized.push(measureMicroseconds(serializeAgain))
  }
  console.log(`${addToJson()} bytes, ${hits} hits`)
  console.log(`add to the cached JSON      ${median(added).toFixed(2)} µs`)
  console.log(`serialise the whole answer  ${median(serialized).toFixed(2)} µs`)
  return 0
})

function exampleHit(index: number): Hit {
  return {
    id: String(4711 + index),
    sku: `AB-742-${index}`,
    name: `Martillo de bola con mango de fresno ${index}`,
    description: 'Cabeza de acero forjado, mango de fresno barnizado, 300 g',
    category: 'Herramientas',
    brand: 'Bellota',
    unit: 'C62',
    price: { amount: '12.50', currency: 'EUR' },
    hsCode: '820520',
    originCountry: 'ES',
    highlights: { name: [[0, 8]] },
  }
}

/** Returns the mean time of one call. */
function measureMicroseconds(assemble: () => number): number {
  const startedAt = performance.now()
  for (let count = 0; count < answersPerRound; count++) assemble()
  return ((performance.now() - startedAt) * 1_000) / answersPerRound
}
