// Words that the company writes in SQL cannot break a search: operators, signs, other scripts.
import t from 'tap'
import { applySynonyms } from '../../src/indexing/synonyms.ts'
import { leaseTarget } from '../support/database/leased-target.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const hostile = [
  `');drop table--`,
  `a&b|!c`,
  `<-> :*`,
  `\\' \\\\`,
  `"phrase" -minus`,
  '日本 中国',
  'ñandú',
  '½ ﬁ',
  '%_*',
  '\u202eabc',
  'ß straße',
]

for (const source of ['index', 'database'] as const)
  t.test(source, async (t) => {
    const database = await testDatabase(t)
    await database.db.insertInto('products').values({ sku: 'Z-1', name: 'Zorgon' }).execute()
    const service = await testService(t, {
      database,
      ...(source === 'database' && { config: withoutEngine }),
    })
    await service.sync()
    for (const word of hostile) {
      await service.db
        .insertInto('search_synonyms')
        .values({ word, synonyms: ['zorgon', ...hostile.filter((other) => other !== word)] })
        .execute()
      await service.db
        .insertInto('search_pins')
        .values({ query: `pin ${word}`, skus: [word, 'Z-1'] })
        .execute()
      await service.db.insertInto('search_hidden_words').values({ word, hides: 'word' }).execute()
    }
    const rejections: string[] = []
    if (source === 'index')
      await applySynonyms(await leaseTarget(service.target), (line) => rejections.push(line))
    t.same(rejections, [])
    const ask = async (q: string) => {
      const response = await service.app.inject(`/api/search?q=${encodeURIComponent(q)}`)
      return { status: response.statusCode, ...response.json() }
    }
    await eventually(
      () => ask('pin ñandu'),
      ({ hits, meta }) => hits?.[0]?.sku === 'Z-1' && meta?.source === source,
    )
    for (const word of [...hostile, 'zorgon', 'abc minus']) {
      const { status, meta } = await ask(word)
      t.equal(status, 200, word)
      t.equal(meta.source, source, word)
    }
    t.equal((await ask('zorgon')).hits[0]?.sku, 'Z-1')
  })
