// The settings of the index: searched fields, ranking rules, typo tolerance, facets. Synonyms are
// not among them, because they change without a rebuild (synonyms.ts).
import type { Settings } from 'meilisearch'
import { facetNames, productFields, searchedNames } from '../products/fields.ts'
import { maxFacetValues, maxListed } from '../search-engine/client.ts'
import {
  type ProductDocument,
  shownAttributes,
  toWordsAttribute,
} from '../search-engine/document-fields.ts'
import { oneTypoLetters, twoTyposLetters } from '../text/typos.ts'

/**
 * The fields in which words are searched, with their places. Matches in earlier fields rank higher.
 */
const searchedFields: [keyof ProductDocument, place: number][] = [
  ['skuForms', 2],
  ['otherWords', 3],
  ['hsCode', 7],
]
for (const name of searchedNames)
  searchedFields.push([toWordsAttribute(name), productFields[name].search.place])

const filteredFields = [
  ...facetNames,
  'codes',
  'hsCode',
  'lookAlike',
  'sku',
  'skuForms',
  'skuKeys',
] satisfies (keyof ProductDocument)[]

export const indexSettings = {
  searchableAttributes: searchedFields
    .toSorted(([, a], [, b]) => a - b)
    .map(([attribute]) => attribute),
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
  // The most important rule first. Exactness ranks before proximity and attribute, and a shorter
  // name before a longer one. Measurements of real queries decided this. People have judged their
  // hits. `attribute` follows the order of the searched fields. engine-query.ts puts exact codes
  // before all others.
  rankingRules: [
    'words',
    'typo',
    'exactness',
    'proximity',
    'attribute',
    'sort',
    'popularity:desc',
    'nameWords:asc',
    'name:asc',
  ],
  // Words of 4 letters may have one typo, words of 8 letters two, numbers and codes none. The same
  // measurements decided this.
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: oneTypoLetters, twoTypos: twoTyposLetters },
    disableOnAttributes: ['hsCode', 'otherWords', 'skuForms', 'skuWords'],
    disableOnWords: [],
    disableOnNumbers: true,
  },
  faceting: { maxValuesPerFacet: maxFacetValues, sortFacetValuesBy: { '*': 'count' } },
  // Allows a full page at the largest offset.
  pagination: { maxTotalHits: maxListed },
} satisfies Settings
