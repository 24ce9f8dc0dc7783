// How each endpoint is called, in three languages, ready to paste.

export type CodeSample = { language: string; code: string }

const calls: Record<string, { query: string; key: boolean; typescript: string; python: string }> = {
  searchProducts: {
    query: '?q=martilo&limit=5',
    key: true,
    typescript: 'for (const hit of answer.hits) console.log(hit.sku, hit.name, hit.price?.amount)',
    python:
      'for hit in answer["hits"]:\n    print(hit["sku"], hit["name"], hit["price"] and hit["price"]["amount"])',
  },
  readStats: {
    query: '?compare=previous_year',
    key: true,
    typescript: 'console.log(answer.revenue.total.amount, answer.revenue.total.currency)',
    python: 'print(answer["revenue"]["total"]["amount"], answer["revenue"]["total"]["currency"])',
  },
  openSharedQuote: {
    query: '?format=json',
    key: false,
    typescript: 'console.log(answer.document.number, answer.document.totals.gross.amount)',
    python: 'print(answer["document"]["number"], answer["document"]["totals"]["gross"]["amount"])',
  },
}

/** Samples for an operation; none for one that is not known here. */
export function codeSamples(base: string, path: string, operation: string): CodeSample[] {
  const call = calls[operation]
  if (!call) return []
  const url = `${base}${path.replace('{token}', 'TOKEN')}${call.query}`
  const shell = call.key
    ? `curl '${url}' \\\n  -H "Authorization: Bearer YOUR_KEY"`
    : `curl '${url}'`
  const fetchOptions = call.key ? ", {\n  headers: { authorization: 'Bearer YOUR_KEY' },\n}" : ''
  const pythonHeaders = call.key ? ', headers={"Authorization": "Bearer YOUR_KEY"}' : ''
  return [
    { language: 'curl', code: shell },
    {
      language: 'TypeScript',
      code: `const response = await fetch('${url}'${fetchOptions})\nif (!response.ok) throw new Error(await response.text())\nconst answer = await response.json()\n${call.typescript}`,
    },
    {
      language: 'Python',
      code: `import json, urllib.request\n\nrequest = urllib.request.Request("${url}"${pythonHeaders})\nwith urllib.request.urlopen(request) as response:\n    answer = json.load(response)\n${call.python}`,
    },
  ]
}
