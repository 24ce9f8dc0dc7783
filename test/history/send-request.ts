// Sends one request of a history over HTTP and records the response, a failure included.
import type { Cluster } from './cluster.ts'
import type { ApiRequest, ApiResponse } from './workloads/workload.ts'

const responseTimeoutMs = 4_000
/** A PDF is rendered with a low priority, which takes long on a busy machine. */
const pdfTimeoutMs = 20_000

/** `bodiesByETag`: the bodies received so far. A 304 is recorded with the body of its ETag. */
export async function sendRequest(
  { name, url }: Cluster['apis'][number],
  { path, headers = {} }: ApiRequest,
  bodiesByETag = new Map<string, string>(),
): Promise<ApiResponse> {
  const sentAt = Date.now()
  const record = (rest: Pick<ApiResponse, 'status' | 'headers' | 'body'>): ApiResponse => ({
    api: name,
    path,
    sentAt,
    endedAt: Date.now() + 1,
    ...rest,
  })
  try {
    const isPdf = path.endsWith('=pdf')
    const signal = AbortSignal.timeout(isPdf ? pdfTimeoutMs : responseTimeoutMs)
    const response = await fetch(url + path, { headers, signal })
    // A PDF is not UTF-8: each byte becomes a character.
    const body = isPdf
      ? Buffer.from(await response.arrayBuffer()).toString('latin1')
      : await response.text()
    const etag = response.headers.get('etag')
    if (etag !== null && response.status === 200) bodiesByETag.set(etag, body)
    const cached = response.status === 304 ? bodiesByETag.get(etag ?? '') : undefined
    return record({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: cached ?? body,
    })
  } catch (error) {
    const body = error instanceof Error ? error.message : String(error)
    return record({ status: null, headers: {}, body })
  }
}
