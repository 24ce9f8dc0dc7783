// The limits on requests for quote links: unknown links by address, and every link by its id.
// Numbers such as S9 are those of the attacks in docs/security.md.
import { sql } from 'kysely'
import t from 'tap'
import { createQuoteLink, revokeQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { findNewestLinkId } from '../../support/quotes/newest-link.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { lengthenTimeouts } from '../../support/service/longer-timeouts.ts'
import {
  getUnknownLinkPath,
  startServiceWithLink,
} from '../../support/service/service-with-link.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)
// A slow Redis would make a service count guesses alone.
lengthenTimeouts(t)

// These tests mostly wait, so four run at once. Each has its own database.
t.jobs = 4

const acceptJson = { accept: 'application/json' }

t.test('guesses are limited per address, known links always open (S9, S44)', async (t) => {
  const { app, url } = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 10 },
  })
  const request = (
    remoteAddress: string,
    path: string,
    headers: Record<string, string> = acceptJson,
  ) => app.inject({ url: path, remoteAddress, headers })
  const requestUnknownPaths = async (count: number, getAddress: (n: number) => string) => {
    const statuses: number[] = []
    for (let n = 0; n < count; n += 1)
      statuses.push((await request(getAddress(n), getUnknownLinkPath(n))).statusCode)
    return statuses
  }

  const ipv4 = await withinOneMinute(async (network) => {
    const guesser = `192.0.${network}.1`
    const unknown = await requestUnknownPaths(10, () => guesser)
    const limited = []
    for (let n = 10; n < 30; n += 1) {
      const forged = {
        'x-forwarded-for': `198.51.100.${n}`,
        forwarded: `for=198.51.100.${n}`,
      }
      limited.push(await request(guesser, getUnknownLinkPath(n), { ...acceptJson, ...forged }))
    }
    return {
      unknown,
      limited,
      rightToken: await request(guesser, url),
      asIpv6: await request(`::ffff:${guesser}`, getUnknownLinkPath(1)),
      page: await request(guesser, getUnknownLinkPath(1), { accept: 'text/html' }),
      otherAddress: await request(`192.0.${network}.2`, url),
    }
  })
  t.same(ipv4.unknown, Array(10).fill(404))
  for (const response of ipv4.limited) {
    t.equal(response.statusCode, 429, 'another X-Forwarded-For does not help')
    t.match(response.json(), { code: 'rate_limited' })
    const retryAfter = Number(response.headers['retry-after'])
    t.ok(retryAfter >= 1 && retryAfter <= 60)
  }
  t.equal(ipv4.limited.length, 20)
  t.equal(ipv4.rightToken.statusCode, 200, 'a customer behind the same address opens a link')
  t.equal(ipv4.asIpv6.statusCode, 429, 'the same address written as IPv6')
  t.match(ipv4.page.headers['content-type'], 'text/html')
  t.match(ipv4.page.body, 'Demasiadas peticiones')
  t.equal(ipv4.otherAddress.statusCode, 200, 'a customer at another address opens the link')

  const ipv6 = await withinOneMinute(async (network) => ({
    unknown: await requestUnknownPaths(10, (n) => `2001:db8:${network}:1::${n}`),
    sameNetwork: await request(`2001:db8:${network}:1:ffff::1`, getUnknownLinkPath(1)),
    otherNetwork: await request(`2001:db8:${network}:2::1`, url),
  }))
  t.same(ipv6.unknown, Array(10).fill(404))
  t.equal(ipv6.sameNetwork.statusCode, 429, 'a /64 counts as one address')
  t.equal(ipv6.otherNetwork.statusCode, 200)
})

t.test(
  'instances share the count of unknown links, and count alone if Redis is unreachable (S9)',
  async (t) => {
    const database = await testDatabase(t)
    const config = { LINK_GUESS_LIMIT_PER_MINUTE: 5, REDIS_PREFIX: 'test:links:' }
    const first = await startServiceWithLink(t, { config, database })
    const second = await testService(t, { config, database, index: false })
    const request = async ({ app }: TestService, path: string, remoteAddress: string) =>
      (await app.inject({ url: path, remoteAddress })).statusCode
    const requestUnknownPaths = async (service: TestService, count: number, address: string) => {
      const statuses: number[] = []
      for (let n = 0; n < count; n += 1)
        statuses.push(await request(service, getUnknownLinkPath(n), address))
      return statuses
    }

    const statuses = await withinOneMinute(async (network) => {
      const address = `192.0.${network}.9`
      return [
        ...(await requestUnknownPaths(first, 5, address)),
        await request(second, getUnknownLinkPath(6), address),
        await request(second, getUnknownLinkPath(7), address),
        await request(second, first.url, address),
      ]
    })
    t.same(statuses, [404, 404, 404, 404, 404, 429, 429, 200])

    first.redis.disconnect()
    t.same(
      await withinOneMinute((network) => requestUnknownPaths(first, 6, `192.0.${network}.10`)),
      [404, 404, 404, 404, 404, 429],
    )
  },
)

t.test('requests are limited per link, whoever sends them', async (t) => {
  const { app, db } = await startServiceWithLink(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  const createUrl = async () => `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
  const otherUrl = await createUrl()
  const { statuses, limited, other } = await withinOneMinute(async () => {
    // An earlier attempt may have used another link in this minute.
    const url = await createUrl()
    const statuses: number[] = []
    for (let n = 0; n < 8; n += 1)
      statuses.push((await app.inject({ url, remoteAddress: `192.0.2.${n}` })).statusCode)
    return { statuses, limited: await app.inject(url), other: await app.inject(otherUrl) }
  })
  t.same(statuses.slice(0, 3), [200, 200, 200])
  t.equal(statuses.at(-1), 429)
  t.equal(limited.statusCode, 429)
  t.ok(Number(limited.headers['retry-after']) > 0)
  t.match(limited.body, 'Demasiadas peticiones')
  t.equal(other.statusCode, 200, 'another link of the same quote opens')
})

t.test('requests for a closed link are limited like those for an open one', async (t) => {
  const service = await startServiceWithLink(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  const { app, db } = service
  const statuses = await withinOneMinute(async () => {
    const url = `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
    await revokeQuoteLink(db, await findNewestLinkId(service))
    const statuses: number[] = []
    for (let n = 0; n < 5; n += 1) statuses.push((await app.inject(url)).statusCode)
    return statuses
  })
  t.same(statuses, [410, 410, 410, 429, 429])
})

t.test('only a proxy in TRUST_PROXY is trusted, and another one is logged once (S9)', async (t) => {
  const lines: string[] = []
  const through = (visitor: string) => ({
    url: getUnknownLinkPath(1),
    remoteAddress: '10.0.0.1',
    headers: { 'x-forwarded-for': visitor },
  })
  const guessAs = async (app: TestService['app'], visitors: string[]) => {
    const statuses: number[] = []
    for (const visitor of visitors) statuses.push((await app.inject(through(visitor))).statusCode)
    return statuses
  }
  const distrusting = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 2 },
    log: (line) => lines.push(line),
  })
  const trusting = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 2, TRUST_PROXY: ['10.0.0.0/8'] },
    log: (line) => lines.push(line),
  })
  const statuses = await withinOneMinute(async (network) => {
    const visitors = [1, 2, 3].map((n) => `192.${network}.2.${n}`)
    const spoofed = [1, 2, 3].map((n) => `203.0.113.${n}, 192.${network}.2.9`)
    return [
      await guessAs(distrusting.app, visitors),
      await guessAs(trusting.app, visitors),
      await guessAs(trusting.app, spoofed),
    ]
  })
  t.same(statuses[0]?.at(-1), 429, 'without TRUST_PROXY all visitors have its address')
  t.same(statuses[1], [404, 404, 404])
  t.same(statuses[2], [404, 404, 429], 'an address that the visitor adds does not count')
  const warnings = lines.filter((line) => line.includes('TRUST_PROXY is empty'))
  t.equal(warnings.length, 1)
  t.match(warnings[0], '"network":"10.')
  t.notMatch(lines.join(), '10.0.0.1', 'no whole address, not even of a private network')
})

t.test('reading a quote that is deleted meanwhile does not count as a guess', async (t) => {
  const { app, db, url } = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 1 },
  })
  await sql`
    create or replace function read_quote_share_document(token_hash bytea)
    returns text language plpgsql security definer as 'begin delete from quotes; return null; end'
  `.execute(db)
  t.equal((await app.inject(url)).statusCode, 404, 'the quote was deleted after the link was found')
  t.equal((await app.inject(url)).statusCode, 404, 'the first request for an unknown link')
  t.equal((await app.inject(url)).statusCode, 429, 'the second one')
})

const minuteMs = 60_000

/**
 * Returns the result of `requestAll` from a run within one minute of the clock, because the limits
 * count per minute. If a minute ends during a run, repeats it from addresses of another network.
 */
async function withinOneMinute<Result>(
  requestAll: (network: number) => Promise<Result>,
): Promise<Result> {
  for (let network = 1; ; network += 1) {
    const minute = Math.floor(Date.now() / minuteMs)
    const result = await requestAll(network)
    if (Math.floor(Date.now() / minuteMs) === minute) return result
  }
}
