// The form in which filters and facets compare categories and brands.

/**
 * Returns the value in lower case, without surrounding blanks and compatibility forms (½, ﬁ), as
 * Meilisearch compares filters. Accents count. The function filter_key of the database does the
 * same.
 */
export function toFilterKey(value: string): string {
  return value.normalize('NFKD').trim().toLowerCase()
}
