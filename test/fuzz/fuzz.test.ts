// Sends generated requests to the three endpoints: the service never fails, and every response is
// one that the OpenAPI document describes.
import t from 'tap'
import { fuzz, fuzzService } from './run.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)

t.test('answers 1,000 valid and malicious requests as the document says', async (t) => {
  const { requests, byStatus, failure } = await fuzz(await fuzzService(t), { count: 1_000, seed })
  t.equal(failure, null)
  t.ok(requests >= 1_000, `${requests} requests`)
  for (const status of [200, 400, 401, 404, 406])
    t.ok((byStatus[status] ?? 0) > 10, `${status}: ${byStatus[status]} times`)
})
