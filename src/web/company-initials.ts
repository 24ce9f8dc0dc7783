// The initials of the company in the header of the pages / and /dashboard.

/** Returns the first letters of the first two words. */
export function initialsOf(name: string): string {
  // Matches each letter or digit that no other precedes.
  return [...name.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)]
    .slice(0, 2)
    .map(([letter]) => letter.toUpperCase())
    .join('')
}
