// The default rate limits. config.ts has the settings that change them.

export const defaultLimits = {
  /** For each key, or for each client address without a key. */
  searchesPerSecond: 40,
  /** For each key, or for each client address without a key. */
  statsPerMinute: 120,
  /** For each link, whoever opens it. An office or a proxy has one address for many customers. */
  quoteLinksPerMinute: 600,
  /** For each client address. */
  invalidKeysPerMinute: 20,
  /** For each client address. */
  unknownLinksPerMinute: 10,
}
