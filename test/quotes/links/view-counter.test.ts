// Counting how often links are opened.
// Numbers such as S11 are those of the attacks in docs/security.md.
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import {
  getUnknownLinkPath,
  startServiceWithLink,
} from '../../support/service/service-with-link.ts'

waitLongForRenderings(t)

const formats = ['html', 'json', 'pdf'] as const

t.test(
  'views are counted only with COUNT_VIEWS, only of people, and without personal data (S11)',
  async (t) => {
    const uncounted = await startServiceWithLink(t)
    await uncounted.app.inject(uncounted.url)
    const lines: string[] = []
    const counting = await startServiceWithLink(t, {
      config: { COUNT_VIEWS: true },
      log: (line) => lines.push(line),
    })
    const before = await counting.db.selectFrom('quote_shares').selectAll().execute()
    for (const format of formats)
      t.equal((await counting.app.inject(`${counting.url}?format=${format}`)).statusCode, 200)
    await counting.app.inject({ method: 'HEAD', url: counting.url })
    await counting.app.inject(getUnknownLinkPath(1))
    for (const agent of [
      'WhatsApp/2.23.20.0',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'facebookexternalhit/1.1',
      'TelegramBot (like TwitterBot)',
    ])
      await counting.app.inject({ url: counting.url, headers: { 'user-agent': agent } })
    await counting.app.inject({ url: counting.url, headers: { 'sec-purpose': 'prefetch' } })
    const readViews = () => counting.db.selectFrom('quote_share_views').selectAll().execute()
    const counted = await eventually(readViews, (rows) => rows.length >= 3)
    t.equal(counted.length, 3)
    t.same(Object.keys(counted[0] ?? {}).sort(), ['share_id', 'viewed_at'])
    t.same(await counting.db.selectFrom('quote_shares').selectAll().execute(), before)
    t.equal((await uncounted.db.selectFrom('quote_share_views').selectAll().execute()).length, 0)

    await counting.db.schema.alterTable('quote_share_views').renameTo('missing').execute()
    const openTwice = async () => {
      for (const _ of [1, 2])
        t.equal(
          (await counting.app.inject(counting.url)).statusCode,
          200,
          'a quote opens even if its view cannot be recorded',
        )
    }
    await openTwice()
    const linesWith = (text: string) => lines.filter((line) => line.includes(text))
    const failures = () => linesWith('Views of quote links cannot be counted')
    await eventually(async () => failures().length, Boolean)
    await openTwice()
    await counting.db.schema.alterTable('missing').renameTo('quote_share_views').execute()
    await counting.app.inject(counting.url)
    const recoveries = () => linesWith('Views of quote links are counted again')
    await eventually(async () => recoveries().length, Boolean)
    t.match(failures(), [/quote_share_views/], 'the log has the cause once')
    t.equal(recoveries().length, 1)
  },
)
