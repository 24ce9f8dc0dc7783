// Claims that all API processes agree on limits and revocations, within the documented bounds.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts'
import { Settings } from '../../src/config/settings-schema.ts'
import { createQuoteLinkWithDetails, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { eventually } from '../support/eventually.ts'
import { newCaller, readStatus } from './direct-requests.ts'
import type { ServiceCluster } from './service-cluster.ts'

/** Every process rejects a revoked key within this time. */
const keyBoundMs = 5_000
const minuteMs = 60_000
/** The counts of one caller must end in the minute in which they began. */
const countingMs = 8_000
/**
 * While Redis is late or its primary is being replaced, each process counts on its own for a
 * second, as documented. The next attempt begins when that is over.
 */
const countAttempts = 3
const ownCountMs = 2_000

export async function checkAgreement(t: Test, cluster: ServiceCluster): Promise<void> {
  await Promise.all([
    checkRevokedLink(t, cluster),
    checkRevokedKey(t, cluster),
    checkLimits(t, cluster),
  ])
}

/** A revoked link opens nowhere any more, at once. */
async function checkRevokedLink(t: Test, { db, apis }: ServiceCluster): Promise<void> {
  const { token, id } = await createQuoteLinkWithDetails(db, { number: 'P-0' })
  const open = () =>
    Promise.all(apis.map(({ url }) => readStatus(`${url}/quote/share/${token}?format=json`)))
  t.same(await open(), [200, 200, 200], 'a new link opens at every process')
  await revokeQuoteLink(db, id)
  t.same(await open(), [410, 410, 410], 'a revoked link is closed at every process at once')
}

async function checkRevokedKey(t: Test, { db, apis }: ServiceCluster): Promise<void> {
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const headers = { ...newCaller(), authorization: `Bearer ${key}` }
  const use = () =>
    Promise.all(apis.map(({ url }) => readStatus(`${url}/api/search?limit=1`, headers)))
  t.same(await use(), [200, 200, 200], 'a new key is valid at every process')
  const { id } = await db
    .selectFrom('api_keys')
    .select('id')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  await revokeApiKey(db, id)
  const revokedAt = performance.now()
  const statuses = await eventually(use, (all) => all.every((status) => status === 401))
  t.same(statuses, [401, 401, 401], 'a revoked key is rejected by every process')
  const ms = performance.now() - revokedAt
  t.ok(ms <= keyBoundMs, `a revoked key is rejected within ${keyBoundMs} ms: ${ms}`)
}

async function checkLimits(t: Test, { apis }: ServiceCluster): Promise<void> {
  const statsPerMinute = Settings.properties.STATS_LIMIT_PER_MINUTE.default
  const unknownLinksPerMinute = Settings.properties.LINK_GUESS_LIMIT_PER_MINUTE.default
  const others = apis.length - 1
  // The bounds of rate-limit-store.ts and guess-limit.ts.
  const batch = Math.floor(statsPerMinute / 20)
  const bounds = {
    stats: { least: statsPerMinute, most: statsPerMinute + 2 * others * batch },
    links: { least: unknownLinksPerMinute, most: unknownLinksPerMinute + others },
  }
  for (let attempt = 1; ; attempt++) {
    const leftMs = minuteMs - (Date.now() % minuteMs)
    if (leftMs < countingMs) await sleep(leftMs)
    const allowed = {
      stats: await countAllowed(apis, '/api/stats', 200, bounds.stats.most + 10),
      links: await countAllowed(apis, `/quote/share/${'x'.repeat(43)}`, 404, bounds.links.most + 6),
    }
    const isWithin = ({ least, most }: { least: number; most: number }, count: number) =>
      count >= least && count <= most
    const isEachWithin =
      isWithin(bounds.stats, allowed.stats) && isWithin(bounds.links, allowed.links)
    if (!isEachWithin && attempt < countAttempts) {
      await sleep(ownCountMs)
      continue
    }
    t.ok(isWithin(bounds.stats, allowed.stats), `${allowed.stats} statistics for one caller`)
    t.ok(isWithin(bounds.links, allowed.links), `${allowed.links} unknown links for one caller`)
    return
  }
}

/** Returns how many of `count` requests of one caller, sent to all in turn, had the status. */
async function countAllowed(
  apis: ServiceCluster['apis'],
  path: string,
  status: number,
  count: number,
): Promise<number> {
  const headers = newCaller()
  let allowed = 0
  for (let sent = 0; sent < count; sent += apis.length) {
    const statuses = await Promise.all(apis.map(({ url }) => readStatus(url + path, headers)))
    allowed += statuses.filter((one) => one === status).length
  }
  return allowed
}
