// Reads the parameters of a quote link from its query.

/**
 * Returns the value of a parameter, or undefined. A repeated one counts once, with its first value:
 * mail tools append parameters to links.
 */
export function readLinkParameter(query: unknown, name: 'format' | 'lang'): unknown {
  const value = (query as { [key in typeof name]?: unknown })[name]
  return Array.isArray(value) ? value[0] : value
}
