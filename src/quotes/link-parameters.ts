// Reads the parameters of a quote link from its query.

/**
 * Returns the value of a parameter, or undefined. Returns the first value of a repeated parameter,
 * because email tools append parameters to links.
 */
export function readLinkParameter(query: unknown, name: 'format' | 'lang'): unknown {
  const value = (query as { [key in typeof name]?: unknown })[name]
  return Array.isArray(value) ? value[0] : value
}
