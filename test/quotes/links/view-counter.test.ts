// Counting how often links are opened.
// Numbers such as S11 are those of the attacks in docs/security.md.
import t from 'tap'
import { isHumanView } from '../../../src/quotes/links/view-counter.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import {
  getUnknownLinkPath,
  startServiceWithLink,
} from '../../support/service/service-with-link.ts'
import type { TestService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

const formats = ['html', 'json', 'pdf'] as const

t.test('views are counted only with COUNT_VIEWS, and without personal data (S11)', async (t) => {
  const uncounted = await startServiceWithLink(t)
  await uncounted.app.inject(uncounted.url)
  const counting = await startServiceWithLink(t, { config: { COUNT_VIEWS: true } })
  const before = await counting.db.selectFrom('quote_shares').selectAll().execute()
  for (const format of formats)
    t.equal((await counting.app.inject(`${counting.url}?format=${format}`)).statusCode, 200)
  const counted = await readViews(counting, formats.length)
  t.equal(counted.length, formats.length)
  t.same(Object.keys(counted[0] ?? {}).sort(), ['share_id', 'viewed_at'])
  t.same(await counting.db.selectFrom('quote_shares').selectAll().execute(), before)
  t.equal((await uncounted.db.selectFrom('quote_share_views').selectAll().execute()).length, 0)
})

t.test('only people are counted, and only for links that exist', async (t) => {
  const database = await testDatabase(t)
  await t.test('requests of programs and of people', async (t) => {
    const { app, url } = await startServiceWithLink(t, { database, config: { COUNT_VIEWS: true } })
    await app.inject({ method: 'HEAD', url })
    await app.inject(getUnknownLinkPath(1))
    for (const agent of [
      'WhatsApp/2.23.20.0',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'facebookexternalhit/1.1',
      'TelegramBot (like TwitterBot)',
      'Google-PageRenderer Google (+https://developers.google.com)',
      'Mozilla/5.0 (compatible; Google-Safety; +http://www.google.com)',
      'Viber/13.3.0',
      'Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)',
      'Iframely/1.3.1 (+https://iframely.com/docs/about)',
      'Mozilla/5.0 (compatible; Claude-User/1.0)',
      'Go-http-client/2.0',
      'okhttp/4.12.0',
      'axios/1.7.2',
    ])
      await app.inject({ url, headers: { 'user-agent': agent } })
    await app.inject({ url, headers: { 'sec-purpose': 'prefetch' } })
    await app.inject({ url, headers: { 'sec-fetch-mode': 'no-cors' } })
    const phone =
      'Mozilla/5.0 (Linux; Android 13; CUBOT KINGKONG) Chrome/131.0.0.0 Mobile Safari/537.36'
    await app.inject({ url, headers: { 'user-agent': phone, 'sec-fetch-mode': 'navigate' } })
    await app.inject(url)
  })
  // The service has closed its connections, so all its inserts have ended.
  const views = await database.db.selectFrom('quote_share_views').selectAll().execute()
  t.equal(views.length, 2)
})

t.test('over https, browsers say that they open a page', (t) => {
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0.0.0 Safari/537.36'
  const safari = 'Mozilla/5.0 (iPhone; CPU iPhone OS 15_0 like Mac OS X) Version/15.0 Safari/604.1'
  for (const [agent, mode, isHttps, expected] of [
    [chrome, 'navigate', true, true],
    [chrome, undefined, true, false],
    [chrome, undefined, false, true],
    [safari, undefined, true, true],
    [safari, 'cors', true, false],
    ['', undefined, false, false],
  ] as const) {
    const headers = { 'user-agent': agent, ...(mode && { 'sec-fetch-mode': mode }) }
    t.equal(isHumanView({ method: 'GET', headers }, isHttps), expected, `${agent} ${mode}`)
  }
  t.end()
})

t.test(
  'a quote opens even if its view cannot be recorded, and the log has the cause once',
  async (t) => {
    const lines: string[] = []
    const { app, db, url } = await startServiceWithLink(t, {
      config: { COUNT_VIEWS: true },
      log: (line) => lines.push(line),
    })
    const openTwice = async () => {
      for (const _ of [1, 2]) t.equal((await app.inject(url)).statusCode, 200)
    }
    const linesWith = (text: string) => lines.filter((line) => line.includes(text))
    await db.schema.alterTable('quote_share_views').renameTo('missing').execute()
    await openTwice()
    const failures = () => linesWith('Views of quote links cannot be counted')
    await eventually(async () => failures().length, Boolean)
    await openTwice()
    await db.schema.alterTable('missing').renameTo('quote_share_views').execute()
    await app.inject(url)
    const recoveries = () => linesWith('Views of quote links are counted again')
    await eventually(async () => recoveries().length, Boolean)
    t.match(failures(), [/quote_share_views/])
    t.equal(recoveries().length, 1)
  },
)

/** Returns the counted views once there are so many. */
const readViews = ({ db }: TestService, count: number) =>
  eventually(
    () => db.selectFrom('quote_share_views').selectAll().execute(),
    (rows) => rows.length >= count,
  )
