// Searches through the HTTP interface of the service under test.
import type { SearchResponse } from '../../../src/search/schema.ts'
import type { TestService } from '../service/test-service.ts'

/** Returns the response to a search with these query parameters, whatever its status is. */
export async function searchProducts(
  app: TestService['app'],
  parameters: Record<string, string>,
): Promise<SearchResponse> {
  const response = await app.inject(`/api/search?${new URLSearchParams(parameters)}`)
  return response.json<SearchResponse>()
}
