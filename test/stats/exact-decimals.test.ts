// Exact division and subtraction of decimal texts.
import fc from 'fast-check'
import t from 'tap'
import { divide, subtract } from '../../src/stats/exact-decimals.ts'

t.test('division is exact and rounds halves away from zero', async (t) => {
  t.equal(divide('0.05', '10', 2), '0.01')
  t.equal(divide('0.04', '10', 2), '0.00')
  t.equal(divide('-0.05', '10', 2), '-0.01')
  t.equal(divide('-0.01', '10', 2), '0.00')
  t.equal(divide(1, 3, 4), '0.3333')
  t.equal(divide(1, 0, 4), null)
  t.equal(divide('7', '2', 0), '4')
  // PostgreSQL's round(dividend / divisor, 2) says …0.01 here.
  t.equal(divide('30000000000000.0149', '3', 2), '10000000000000.00')
  t.equal(subtract('1.5', '2'), '-0.5')
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.bigInt(1n, 10n ** 12n), (a, b) => {
      const quotient = BigInt((divide(String(a), String(b), 3) ?? '').replace('.', ''))
      const rest = 2n * (a * 1000n - quotient * b)
      return rest <= b && rest >= -b
    }),
    { seed: 4 },
  )
})
