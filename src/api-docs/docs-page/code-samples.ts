// Code samples on /docs: a request to each endpoint with curl, TypeScript and Python.

export type CodeSample = { language: string; code: string }

type SampleRequest = {
  query: string
  needsKey: boolean
  /** The statement that prints fields of `result`, the parsed response. */
  typescript: string
  python: string
}

/** The sample requests by operation id. */
const sampleRequests: Record<string, SampleRequest> = {
  searchProducts: {
    query: '?q=martilo&limit=5',
    needsKey: true,
    typescript: 'for (const hit of result.hits) console.log(hit.sku, hit.name, hit.price?.amount)',
    python: `for hit in result["hits"]:
    print(hit["sku"], hit["name"], hit["price"] and hit["price"]["amount"])`,
  },
  readStats: {
    query: '?compare=previous_year',
    needsKey: true,
    typescript: 'console.log(result.revenue.total.amount, result.revenue.total.currency)',
    python: 'print(result["revenue"]["total"]["amount"], result["revenue"]["total"]["currency"])',
  },
  openSharedQuote: {
    query: '?format=json',
    needsKey: false,
    typescript: 'console.log(result.document.number, result.document.totals.gross.amount)',
    python: 'print(result["document"]["number"], result["document"]["totals"]["gross"]["amount"])',
  },
}

/** Returns the samples of an operation, or [] if it has no sample request. */
export function createCodeSamples(
  baseUrl: string,
  path: string,
  operationId: string,
): CodeSample[] {
  const request = sampleRequests[operationId]
  if (!request) return []
  const url = `${baseUrl}${path.replace('{token}', 'TOKEN')}${request.query}`
  return [
    { language: 'curl', code: curlSample(url, request) },
    { language: 'TypeScript', code: typescriptSample(url, request) },
    { language: 'Python', code: pythonSample(url, request) },
  ]
}

function curlSample(url: string, { needsKey }: SampleRequest): string {
  return needsKey ? `curl '${url}' \\\n  -H "Authorization: Bearer YOUR_KEY"` : `curl '${url}'`
}

function typescriptSample(url: string, { needsKey, typescript }: SampleRequest): string {
  const options = needsKey ? ", {\n  headers: { authorization: 'Bearer YOUR_KEY' },\n}" : ''
  return `const response = await fetch('${url}'${options})
if (!response.ok) throw new Error(await response.text())
const result = await response.json()
${typescript}`
}

function pythonSample(url: string, { needsKey, python }: SampleRequest): string {
  const headers = needsKey ? ', headers={"Authorization": "Bearer YOUR_KEY"}' : ''
  return `import json, urllib.request

request = urllib.request.Request("${url}"${headers})
with urllib.request.urlopen(request) as response:
    result = json.load(response)
${python}`
}
