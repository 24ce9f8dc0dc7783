// The codes of GET /api/stats: an unknown code is an error, not a country without quotes.
import t from 'tap'
import { countryCodes } from '../../src/company/countries.ts'
import { insertQuote } from './insert-quotes.ts'
import { statsService } from './stats-service.ts'

const service = await statsService(t)
await insertQuote(service.db, '1')

async function readDetail(query: string): Promise<string | undefined> {
  const response = await service.app.inject(`/api/stats?${query}`)
  t.equal(response.statusCode, 400, query)
  const { code, errors } = response.json<{
    code: string
    errors: { parameter: string; detail: string }[]
  }>()
  t.equal(code, 'invalid_parameter')
  t.equal(errors[0]?.parameter, query.split('=')[0])
  return errors[0]?.detail
}

t.test('an unknown country is an error that names the code for a common mistake', async (t) => {
  const unknown = (code: string) => `${code} is not an ISO 3166-1 country code.`
  t.equal(await readDetail('country=UK'), `${unknown('UK')} Did you mean GB?`)
  t.equal(await readDetail('country=EL'), `${unknown('EL')} Did you mean GR?`)
  t.equal(await readDetail('country=XX'), unknown('XX'))
  t.equal(await readDetail('country=es'), 'must be written like ES or unknown')
})

t.test('an unknown currency is an error that names the code for a common mistake', async (t) => {
  const unknown = (code: string) => `${code} is not an ISO 4217 currency.`
  t.equal(await readDetail('currency=RMB'), `${unknown('RMB')} Did you mean CNY?`)
  t.equal(await readDetail('currency=ESP'), `${unknown('ESP')} Did you mean EUR?`)
  t.equal(await readDetail('currency=XAU'), unknown('XAU'))
  t.equal(await readDetail('currency=eur'), 'must be written like EUR')
  const { statusCode } = await service.app.inject('/api/stats?currency=KWD')
  t.equal(statusCode, 200)
})

t.test('every country of the database is accepted, and an unknown country too', async (t) => {
  const rows = await service.db.selectFrom('countries').select('code').execute()
  t.same([...countryCodes], rows.map(({ code }) => code).toSorted())
  for (const country of ['GB', 'GR', 'unknown']) {
    const { statusCode } = await service.app.inject(`/api/stats?country=${country}`)
    t.equal(statusCode, 200, country)
  }
})
