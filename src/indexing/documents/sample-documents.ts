// Documents of invented products: for the shape of an index, and to write to an index.
import type { ProductDocument } from '../../search-engine/document-fields.ts'
import { type ProductRow, toDocument } from './product-to-document.ts'

const sampleProduct: ProductRow = {
  id: '1',
  sku: 'AB-742.x/9 Ñ',
  name: 'Tornillos (M6) de 2 x 4,5 x 8 cm, 18 V · ¾" ñandú 10 uds.',
  description: 'Acero 304, 1.200 mm',
  category: 'Tornillería',
  brand: 'Ácana',
  unit: 'C62',
  price: '12.5',
  currency: 'EUR',
  hs_code: '731815',
  origin_country: 'ES',
  popularity: 3,
  quotedRank: 7,
}

const bareProduct: ProductRow = {
  id: '2',
  sku: '00123',
  name: 'Screwdriver set 1/4 in',
  description: null,
  category: null,
  brand: null,
  unit: null,
  price: null,
  currency: null,
  hs_code: null,
  origin_country: null,
  popularity: null,
  quotedRank: null,
}

/**
 * Products whose documents are part of the shape. A test requires a further one if the code of
 * toDocument() changes and these documents stay the same.
 */
const sampleProducts: ProductRow[] = [
  sampleProduct,
  bareProduct,
  { ...sampleProduct, id: '3', sku: '*' },
  { ...sampleProduct, id: '4', sku: 'ΑΣ-²-٣-ที่' },
  { ...sampleProduct, id: '5', name: '<b>Broca</b> ⌀20 mm 3M™' },
]

/** Returns the documents that are part of the shape of an index. */
export function createSampleDocuments(): ProductDocument[] {
  return sampleProducts.map(toDocument)
}

/** Returns a document with every field. No product has its id. */
export function createFullDocument(): ProductDocument {
  return toDocument({ ...sampleProduct, id: '0' })
}

/** Returns a document that hardly any search finds, for a live index. No product has its id. */
export function createProbeDocument(): ProductDocument {
  return toDocument({ ...bareProduct, id: '0', sku: 'zqxj-zqxj', name: 'Zqxjzqxj' })
}
