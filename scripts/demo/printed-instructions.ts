// What the demo prints once it is ready: what to try, and where.
import type { Scope } from '../../src/database/table-types.ts'
import type { DemoFile } from './demo-file.ts'

/** `directory` is where its data is kept. */
export function printInstructions(
  demo: DemoFile,
  anonymousScopes: string,
  directory: string,
): void {
  const keys: Record<Scope, string> = { 'search:read': demo.searchKey, 'stats:read': demo.statsKey }
  const isOpen = (scope: Scope) => anonymousScopes.split(',').includes(scope)
  const withKey = (scope: Scope, path: string) =>
    `curl -H 'Authorization: Bearer ${keys[scope]}' '${demo.url}${path}'`
  const curl = (scope: Scope, path: string) =>
    isOpen(scope) ? `curl '${demo.url}${path}'` : withKey(scope, path)
  console.log(`
Try (callers without a key ${anonymousScopes === '' ? 'may do nothing' : `have ${anonymousScopes.replaceAll(',', ', ')}`} here):

  ${curl('search:read', '/api/search?q=jumbo+strage+bag')}
  ${curl('search:read', '/api/search?q=taladro&facets=category,brand')}
  ${curl('stats:read', '/api/stats?to=2011-12-31')}
  ${curl('stats:read', '/api/stats?from=2011-01-01&to=2011-12-31&country=ES&compare=previous_year')}
  ${withKey('search:read', '/api/search?q=85123a')}
  curl '${demo.opsUrl}/health/ready'

To open in the browser: all three at work with the code to copy, the dashboard, and a presupuesto (add ?lang=en or ?format=json):

  ${demo.url}/
  ${demo.url}/dashboard?from=2011-01-01&to=2011-12-31
  ${demo.shareUrl}

Keys without rate limit:   search:read ${demo.searchKey}
                           stats:read  ${demo.statsKey}

Data: Online Retail (UCI, doi 10.24432/C5BW33), CC0; the quotes numbered EJ-… are invented examples. See demo/NOTICE.md.
Kept in ${directory}, with the logs. To use scripts/run on it:

  export DATABASE_URL='${demo.databaseUrl}' PUBLIC_BASE_URL='${demo.url}'

Ctrl+C stops everything.
`)
}
