// Every time that the service waits, and the reason for it. src/timeouts/ has a file for each part
// of the service. docs/timeouts.md is generated: run `node scripts/timeouts-table.ts`.
//
// Read `ms` at the time of use and not when a module loads, because tests replace it.
import { authTimeouts } from './timeouts/auth-timeouts.ts'
import { databaseTimeouts } from './timeouts/database-timeouts.ts'
import { httpTimeouts } from './timeouts/http-timeouts.ts'
import { indexingTimeouts } from './timeouts/indexing-timeouts.ts'
import { monitoringTimeouts } from './timeouts/monitoring-timeouts.ts'
import { overloadTimeouts } from './timeouts/overload-timeouts.ts'
import { processTimeouts } from './timeouts/process-timeouts.ts'
import { quotesTimeouts } from './timeouts/quotes-timeouts.ts'
import { rateLimitsTimeouts } from './timeouts/rate-limits-timeouts.ts'
import { redisTimeouts } from './timeouts/redis-timeouts.ts'
import { searchEngineTimeouts } from './timeouts/search-engine-timeouts.ts'
import { searchReportTimeouts } from './timeouts/search-report-timeouts.ts'
import { searchTimeouts } from './timeouts/search-timeouts.ts'
import { statsTimeouts } from './timeouts/stats-timeouts.ts'

/** The sections are in the order of docs/timeouts.md. */
export const timeouts = {
  process: processTimeouts,
  http: httpTimeouts,
  auth: authTimeouts,
  rateLimits: rateLimitsTimeouts,
  overload: overloadTimeouts,
  database: databaseTimeouts,
  redis: redisTimeouts,
  searchEngine: searchEngineTimeouts,
  search: searchTimeouts,
  indexing: indexingTimeouts,
  searchReport: searchReportTimeouts,
  stats: statsTimeouts,
  quotes: quotesTimeouts,
  monitoring: monitoringTimeouts,
}
