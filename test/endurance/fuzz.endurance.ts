// Sends 100,000 requests generated from the OpenAPI document, with a new seed each time.
// FUZZ_REQUESTS sets how many, FUZZ_SEED the seed.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { fuzz, fuzzService } from '../fuzz/run.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 100_000)
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))

t.setTimeout(3_600_000)
t.test(`${count} requests of seed ${seed} are answered as documented`, async (t) => {
  const { requests, byStatus, failure } = await fuzz(await fuzzService(t), { count, seed })
  t.equal(failure, null)
  console.error(`${requests} requests, seed ${seed}: ${JSON.stringify(byStatus)}`)
})
