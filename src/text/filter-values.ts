// What a filter and a facet compare of a category or brand.

/**
 * Returns the value without case, surrounding blanks and compatibility forms (½, ﬁ), as Meilisearch
 * compares filters. Accents count. The function filter_key of the database does the same.
 */
export function toFilterKey(value: string): string {
  return value.normalize('NFKD').trim().toLowerCase()
}
