// Prints what to try once the demo is ready.
import type { Scope } from '../../src/database/table-types.ts'
import type { DemoFile } from './demo-file.ts'

/** `directory`: where the demo keeps its data. */
export function printInstructions(
  demo: DemoFile,
  anonymousScopes: string,
  directory: string,
): void {
  const keys: Record<Scope, string> = {
    'search:read': demo.searchKey,
    'stats:read': demo.statsKey,
    'stats:detail': demo.detailKey,
  }
  const withKey = (scope: Scope, path: string) =>
    `curl -H 'Authorization: Bearer ${keys[scope]}' '${demo.url}${path}'`
  const curl = (scope: Scope, path: string) =>
    anonymousScopes.split(',').includes(scope) ? `curl '${demo.url}${path}'` : withKey(scope, path)
  const permission =
    anonymousScopes === ''
      ? 'callers without a key may do nothing'
      : `callers without a key have the scopes ${anonymousScopes.replaceAll(',', ', ')}`
  const year2011 = 'from=2011-01-01&to=2011-12-31'
  console.log(`
Requests to try (${permission}):

  ${curl('search:read', '/api/search?q=jumbo+strage+bag')}
  ${curl('search:read', '/api/search?q=taladro&facets=category,brand')}
  ${curl('stats:read', '/api/stats?to=2011-12-31')}
  ${curl('stats:read', `/api/stats?${year2011}&country=ES&compare=previous_year`)}
  ${withKey('stats:detail', `/api/stats?${year2011}&by=product`)}
  ${withKey('search:read', '/api/search?q=85123a')}
  curl '${demo.opsUrl}/health/ready'

Pages to open in a browser: the home page with code to copy, the dashboard, and a quote in
Spanish (add ?lang=en or ?format=json to its address):

  ${demo.url}/
  ${demo.url}/dashboard?${year2011}
  ${demo.shareUrl}

Keys without a rate limit:   search:read   ${demo.searchKey}
                             stats:read    ${demo.statsKey}
                             stats:detail  ${demo.detailKey}

The data is Online Retail (UCI, doi 10.24432/C5BW33), CC0. The quotes numbered EJ-… are
invented examples. See demo/NOTICE.md.
Data and logs are kept in ${directory}. To use scripts/run on it:

  . '${directory}/demo.env'

Ctrl+C stops everything.
`)
}
