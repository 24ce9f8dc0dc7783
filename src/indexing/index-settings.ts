// The settings of the index: which fields are searched, how hits are ranked and how typos are tolerated.
import type { Settings } from 'meilisearch'
import { maxFacetValues, maxTotal, shownAttributes } from '../search-engine/product-document.ts'
import { synonyms } from '../text/trade-synonyms.ts'

/**
 * Measured on real queries with human grades: exactness before attribute, typos from 4 and 8 letters, none on numbers and codes. The order of
 * searchableAttributes is what the attribute rule goes by.
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
  // No more than is asked for: what the engine keeps for comparing and searching in values doubles what one changed product costs it.
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
    disableOnAttributes: ['hsCode', 'otherNumbers', 'sizes', 'sku', 'skuForms'], // in the order in which the engine gives them back
    disableOnWords: [],
    disableOnNumbers: true,
  },
  synonyms,
  faceting: { maxValuesPerFacet: maxFacetValues, sortFacetValuesBy: { '*': 'count' } },
  // A page that begins at the last offset is still whole.
  pagination: { maxTotalHits: maxTotal + 100 },
} satisfies Settings
