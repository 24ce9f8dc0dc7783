// The paths of the endpoints, as patterns of Fastify. Routes, the OpenAPI document, metrics and the
// text of a 404 share them.

export const searchPath = '/api/search'
export const statsPath = '/api/stats'
/** The path of every quote link, without the slash and the token that follow it. */
export const quoteLinkBase = '/quote/share'
export const quoteLinkPath = `${quoteLinkBase}/:token`
export const endpointPaths = [searchPath, statsPath, quoteLinkPath]

/** Returns the path as the OpenAPI document writes it: `{token}` instead of `:token`. */
export function toOpenApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}
