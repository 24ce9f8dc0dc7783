// A hundred thousand requests made from the OpenAPI document, with a new seed each time: none is a failure, none outside the document.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { fuzz, fuzzService } from '../fuzz/run.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 100_000)
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))

t.setTimeout(3_600_000)
t.test(`${count} requests, seed ${seed}`, async (t) => {
  const { requests, byStatus, trouble } = await fuzz(await fuzzService(t), { count, seed })
  t.equal(trouble, null)
  console.error(`${requests} requests, seed ${seed}: ${JSON.stringify(byStatus)}`)
})
