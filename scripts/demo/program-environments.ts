// What each of the demo's programs is told: no more than it needs, as in production.
import type { Program } from '../../src/database/roles.ts'
import { indexerKey, searchKey } from '../../src/indexing/engine-keys.ts'
import type { DemoServers } from './demo-servers.ts'

/** Where the API listens, and what it shows. */
export type Place = {
  port: number
  opsPort: number
  companyFile: string
  paletteKey: string
  shareUrl: string
}

/** Where callers reach the demo. */
export function demoBaseUrl(port: number): string {
  return (process.env.PUBLIC_BASE_URL || `http://127.0.0.1:${port}`).replace(/\/+$/, '')
}

export function anonymousScopes(): string {
  return (process.env.ANONYMOUS_SCOPES ?? 'search:read,stats:read').replace(/\s/g, '')
}

/** No owner and no master key, and neither has what is the other's. */
export function environments(
  { redisUrl, meiliUrl, meiliMasterKey }: DemoServers,
  roleUrls: Record<Program, string>,
  { port, opsPort, companyFile, paletteKey, shareUrl }: Place,
): Record<'api' | 'indexer', Record<string, string>> {
  const both = { MEILI_URL: meiliUrl, LOG_LEVEL: process.env.LOG_LEVEL || 'info' }
  return {
    api: {
      ...both,
      API_DATABASE_URL: roleUrls.api,
      ...(redisUrl && { REDIS_URL: redisUrl }),
      MEILI_SEARCH_KEY: searchKey(meiliMasterKey),
      COMPANY_FILE: companyFile,
      HOST: '127.0.0.1',
      PORT: String(port),
      OPS_PORT: String(opsPort),
      PUBLIC_BASE_URL: demoBaseUrl(port),
      ANONYMOUS_SCOPES: anonymousScopes(),
      WEB_PARTS: process.env.WEB_PARTS || 'palette,dashboard,home',
      ...(process.env.SHED_DELAY_MS && { SHED_DELAY_MS: process.env.SHED_DELAY_MS }),
      HOME_PALETTE: paletteKey,
      HOME_QUOTE_URL: shareUrl,
    },
    indexer: {
      ...both,
      INDEXER_DATABASE_URL: roleUrls.indexer,
      MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
    },
  }
}
