// The ranking rules: what decides the order of hits, the most important rule first.

/**
 * Exactness ranks before proximity and attribute, and a shorter name before a longer one.
 * Measurements of real queries decided this. People have judged their hits. `attribute` follows the
 * order of the searched fields (index-settings.ts). engine-query.ts puts exact codes before all
 * others.
 */
export const rankingRules = [
  'words',
  'typo',
  'exactness',
  'proximity',
  'attribute',
  'sort',
  'popularity:desc',
  'nameWords:asc',
  'name:asc',
]
