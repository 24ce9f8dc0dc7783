// The demo's API keys and quote link, and the files that keep them. data/demo.json is for the next
// start and for developers. data/demo.env is what a shell needs to use scripts/run and curl.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiKeyCache } from '../../src/auth/api-key-cache.ts'
import { createApiKey, isUsable, type NewKey } from '../../src/auth/api-keys.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { readLink } from '../../src/quotes/links/read-link.ts'
import { linkedQuoteNumber } from './load-data.ts'
import { type DemoPorts, demoBaseUrl } from './programs.ts'
import type { DemoServers } from './servers.ts'

export type DemoFile = {
  url: string
  opsUrl: string
  searchKey: string
  statsKey: string
  detailKey: string
  paletteKey: string
  shareUrl: string
  databaseUrl: string
  redisUrl: string | undefined
  meiliUrl: string
}

/** Returns what the demo shows. Keys and link of the previous start are kept while they are valid. */
export async function createKeysAndLink(
  db: Database,
  { databaseUrl, redisUrl, meiliUrl }: DemoServers,
  ports: DemoPorts,
  timeZone: string,
  directory: string,
): Promise<DemoFile> {
  const previous = readDemoFile(directory)
  const secretKey = (previousKey: string | undefined, ...scopes: NewKey['scopes']) =>
    reuseOrCreateKey(db, previousKey, {
      kind: 'secret',
      name: `Demo ${scopes.at(-1)}`,
      scopes,
      unlimited: true,
    })
  const baseUrl = demoBaseUrl(ports)
  const paletteKey = await reuseOrCreateKey(db, previous.paletteKey, {
    kind: 'publishable',
    name: 'Demo page',
    scopes: ['search:read'],
    origins: [new URL(baseUrl).origin],
  })
  const previousToken = previous.shareUrl?.split('/').at(-1) ?? ''
  const link = await readLink(db, previousToken, { timeZone, now: new Date() })
  const token =
    link.state === 'open' ? previousToken : await createQuoteLink(db, { number: linkedQuoteNumber })
  return {
    url: `http://127.0.0.1:${ports.api}`,
    opsUrl: `http://127.0.0.1:${ports.ops}`,
    searchKey: await secretKey(previous.searchKey, 'search:read'),
    statsKey: await secretKey(previous.statsKey, 'stats:read'),
    detailKey: await secretKey(previous.detailKey, 'stats:read', 'stats:detail'),
    paletteKey,
    shareUrl: `${baseUrl}/quote/share/${token}`,
    databaseUrl,
    redisUrl,
    meiliUrl,
  }
}

async function reuseOrCreateKey(
  db: Database,
  previousKey: string | undefined,
  newKey: NewKey,
): Promise<string> {
  const known = previousKey ? await new ApiKeyCache(db, console).find(previousKey) : null
  const isReusable =
    known &&
    isUsable(known) &&
    (newKey.origins ?? []).every((origin) => known.origins.includes(origin))
  return previousKey && isReusable ? previousKey : createApiKey(db, newKey)
}

/** Returns what the previous start wrote, or nothing if the file is missing or damaged. */
function readDemoFile(directory: string): Partial<DemoFile> {
  try {
    return JSON.parse(readFileSync(join(directory, 'demo.json'), 'utf8')) as Partial<DemoFile>
  } catch {
    return {}
  }
}

/** Only the owner can read the two files, because they contain keys and a password. */
export function writeDemoFiles(directory: string, demo: DemoFile): void {
  const variables = {
    DATABASE_URL: demo.databaseUrl,
    PUBLIC_BASE_URL: demo.url,
    QUOTE_LINK: demo.shareUrl,
  }
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  )
  for (const [name, text] of [
    ['demo.json', JSON.stringify(demo, null, 2)],
    ['demo.env', lines.join('')],
  ] as const) {
    const file = join(directory, name)
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
}

/** The addresses in the file for shells may no longer be true. Keys and link are kept. */
export function deleteShellFile(directory: string): void {
  rmSync(join(directory, 'demo.env'), { force: true })
}
