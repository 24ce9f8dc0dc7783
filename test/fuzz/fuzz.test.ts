// Whatever is sent to the three endpoints, the answer is one that the OpenAPI document has, and never a failure of the service.
import t from 'tap'
import { fuzz, fuzzService } from './run.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)

t.test('three thousand requests made from the document, well meant and hostile', async (t) => {
  const { requests, byStatus, trouble } = await fuzz(await fuzzService(t), { count: 3_000, seed })
  t.equal(trouble, null)
  t.ok(requests >= 3_000, `${requests} requests`)
  for (const status of [200, 400, 401, 404, 406])
    t.ok((byStatus[status] ?? 0) > 10, `${status}: ${byStatus[status]} times`)
})
