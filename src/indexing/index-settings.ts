// The settings of the index: searched fields, ranking rules, typo tolerance, synonyms, facets.
import type { Settings } from 'meilisearch'
import { maxFacetValues, maxTotal, shownAttributes } from '../search-engine/product-document.ts'
import { synonyms } from '../text/trade-synonyms.ts'

/**
 * Chosen by measuring real queries with human relevance grades: exactness ranks before attribute;
 * words of 4 letters may have one typo, words of 8 letters two, numbers and codes none. The ranking
 * rule `attribute` follows the order of `searchableAttributes`.
 */
export const indexSettings = {
  searchableAttributes: [
    'name',
    'skuForms',
    'sku',
    'sizes',
    'otherNumbers',
    'brand',
    'category',
    'hsCode',
    'description',
  ],
  displayedAttributes: [...shownAttributes],
  // Equality only: comparison and facet search would double the cost of indexing one product.
  filterableAttributes: [
    {
      attributePatterns: ['brand', 'category', 'enye', 'hsCode', 'skuForms', 'skuKey'],
      features: { facetSearch: false, filter: { equality: true, comparison: false } },
    },
  ],
  facetSearch: false,
  sortableAttributes: ['quotedRank'],
  rankingRules: [
    'words',
    'typo',
    'proximity',
    'exactness',
    'attribute',
    'sort',
    'popularity:desc',
    'name:asc',
  ],
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 },
    // In the order in which the engine returns them.
    disableOnAttributes: ['hsCode', 'otherNumbers', 'sizes', 'sku', 'skuForms'],
    disableOnWords: [],
    disableOnNumbers: true,
  },
  synonyms,
  faceting: { maxValuesPerFacet: maxFacetValues, sortFacetValuesBy: { '*': 'count' } },
  // Allows a full page at the largest offset.
  pagination: { maxTotalHits: maxTotal + 100 },
} satisfies Settings
