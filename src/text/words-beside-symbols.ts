// Finds words that have a symbol beside them, such as ™, ⌀ or <. The engine takes most symbols for
// letters, so these words are indexed once more without them. The setting `separatorTokens` of the
// engine would do the same, but searches take three times as long with it (docs/measurements.md).

const wordsBesideSymbols = /(?<=\p{S})[\p{L}\p{M}\p{N}]+|[\p{L}\p{M}\p{N}]+(?=\p{S})/gu

/** Returns each such word once: "<b>Broca</b> ⌀20" gives b, Broca and 20. */
export function listWordsBesideSymbols(text: string): string[] {
  return [...new Set(text.match(wordsBesideSymbols))]
}
