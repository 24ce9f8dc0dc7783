// Compares If-None-Match with an entity tag.

/** Returns whether a header matches by weak comparison, which RFC 9110 requires for GET. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  return header.split(',').some((tag) => withoutWeakness(tag.trim()) === withoutWeakness(etag))
}

const withoutWeakness = (tag: string) => tag.replace(/^W\//, '')
