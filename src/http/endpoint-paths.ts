// The paths of the endpoints, as patterns of Fastify. Routes, the OpenAPI document, metrics and the
// text of a 404 share them.

export const searchPath = '/api/search'
export const statsPath = '/api/stats'
export const quoteLinkPath = '/quote/share/:token'
export const endpointPaths = [searchPath, statsPath, quoteLinkPath]

/** Returns the path as the OpenAPI document writes it: `{token}` instead of `:token`. */
export function toOpenApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}
