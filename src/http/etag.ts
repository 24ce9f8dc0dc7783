// Compares the If-None-Match header with an entity tag.

/** Returns whether the header matches, by the weak comparison that RFC 9110 requires for GET. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  return header.split(',').some((tag) => removeWeakness(tag.trim()) === removeWeakness(etag))
}

const removeWeakness = (tag: string) => tag.replace(/^W\//, '')
