// A search engine without a server, and what it may answer.
import type { EngineHit, EngineResult, SearchEngine } from '../../src/search-engine/client.ts'

export const noHits: EngineResult = { hits: [], estimatedTotalHits: 0 }

export const exampleHit: EngineHit = {
  id: '1',
  sku: 'A-1',
  name: 'Martillo',
  description: null,
  category: null,
  brand: null,
  supplier: null,
  unit: 'C62',
  price: null,
  hsCode: null,
  originCountry: null,
}

/** Returns a healthy engine that searches with this function. */
export function createStubEngine(search: SearchEngine['search']): SearchEngine {
  return { search, health: async () => undefined, close: async () => undefined }
}
