// The fields of a product in which words are searched. Matches in earlier fields rank higher.
import type { ProductDocument } from '../../search-engine/document-fields.ts'

export const searchedFields = [
  'name',
  'skuForms',
  'sku',
  'sizes',
  'otherNumbers',
  'brand',
  'category',
  'hsCode',
  'description',
] satisfies (keyof ProductDocument)[]
