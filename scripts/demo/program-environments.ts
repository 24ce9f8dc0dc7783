// The environment variables of the demo's programs: each gets only what it needs, as in production.
import type { Program } from '../../src/database/role-grants.ts'
import { deriveIndexerKey, deriveSearchKey } from '../../src/indexing/keys.ts'
import type { DemoServers } from './demo-servers.ts'

export type ApiSettings = {
  ports: { api: number; ops: number }
  companyFile: string
  /** The key and the link that the home page shows. */
  paletteKey: string
  shareUrl: string
}

/** The address for callers, without a slash at the end. */
export function demoBaseUrl(port: number): string {
  return (process.env.PUBLIC_BASE_URL || `http://127.0.0.1:${port}`).replace(/\/+$/, '')
}

export function anonymousScopes(): string {
  return (process.env.ANONYMOUS_SCOPES ?? 'search:read,stats:read').replace(/\s/g, '')
}

/** Neither program gets the database owner, the engine's master key or a secret of the other. */
export function programEnvironments(
  { redisUrl, meiliUrl, meiliMasterKey }: DemoServers,
  roleUrls: Record<Program, string>,
  { ports, companyFile, paletteKey, shareUrl }: ApiSettings,
): Record<'api' | 'indexer', Record<string, string>> {
  const shared = { MEILI_URL: meiliUrl, LOG_LEVEL: process.env.LOG_LEVEL || 'info' }
  return {
    api: {
      ...shared,
      API_DATABASE_URL: roleUrls.api,
      ...(redisUrl && { REDIS_URL: redisUrl }),
      MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey),
      COMPANY_FILE: companyFile,
      HOST: '127.0.0.1',
      PORT: String(ports.api),
      OPS_PORT: String(ports.ops),
      PUBLIC_BASE_URL: demoBaseUrl(ports.api),
      ANONYMOUS_SCOPES: anonymousScopes(),
      WEB_PARTS: process.env.WEB_PARTS || 'palette,dashboard,home',
      ...(process.env.SHED_DELAY_MS && { SHED_DELAY_MS: process.env.SHED_DELAY_MS }),
      HOME_PALETTE: paletteKey,
      HOME_QUOTE_URL: shareUrl,
    },
    indexer: {
      ...shared,
      INDEXER_DATABASE_URL: roleUrls.indexer,
      MEILI_INDEXER_KEY: deriveIndexerKey(meiliMasterKey),
      // Any free port: several demos may run.
      INDEXER_OPS_PORT: '0',
    },
  }
}
