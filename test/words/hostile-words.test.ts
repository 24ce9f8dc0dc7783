// Words that the company writes in SQL cannot break a search: operators, signs, other scripts.
import t from 'tap'
import { applySynonyms } from '../../src/indexing/synonyms.ts'
import { leaseTarget } from '../support/database/leased-target.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

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

const products = [{ sku: 'Z-1', name: 'Zorgon' }]

testBothSources(t, products, async (t, { source, service, skus }) => {
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
  await skus('pin ñandu', ([first]) => first === 'Z-1')
  for (const word of [...hostile, 'zorgon', 'abc minus']) {
    const response = await service.app.inject(`/api/search?q=${encodeURIComponent(word)}`)
    t.equal(response.statusCode, 200, word)
    t.equal(response.json().meta.source, source, word)
  }
  t.equal((await skus('zorgon'))[0], 'Z-1')
})
