// The settings of the index: searched fields, ranking rules, typo tolerance, facets. Synonyms are
// not among them, because they change without a rebuild (synonym-sync.ts).
import type { Settings } from 'meilisearch'
import { type ProductDocument, shownAttributes } from '../../search-engine/document-fields.ts'
import { maxFacetValues, maxListed } from '../../search-engine/result-limits.ts'
import { rankingRules } from './engine-ranking-rules.ts'
import { typoTolerance } from './typo-tolerance.ts'

/** The fields in which words are searched. Matches in earlier fields rank higher. */
const searchedFields = [
  'words',
  'skuForms',
  'otherWords',
  'skuWords',
  'brandWords',
  'categoryWords',
  'hsCode',
  'descriptionWords',
] satisfies (keyof ProductDocument)[]

const filteredFields = [
  'brand',
  'category',
  'codes',
  'enye',
  'hsCode',
  'lookAlike',
  'sku',
  'skuForms',
  'skuKeys',
] satisfies (keyof ProductDocument)[]

export const indexSettings = {
  searchableAttributes: searchedFields,
  displayedAttributes: [...shownAttributes],
  // Equality only: comparison and facet search would double the cost of indexing one product.
  filterableAttributes: [
    {
      attributePatterns: filteredFields,
      features: { facetSearch: false, filter: { equality: true, comparison: false } },
    },
  ],
  facetSearch: false,
  sortableAttributes: ['quotedRank'],
  rankingRules,
  typoTolerance,
  faceting: { maxValuesPerFacet: maxFacetValues, sortFacetValuesBy: { '*': 'count' } },
  // Allows a full page at the largest offset.
  pagination: { maxTotalHits: maxListed },
} satisfies Settings
